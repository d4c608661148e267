"""Sentence pairs of our own, to look at heads where the corpus of a model is not on the machine."""

from __future__ import annotations

from typing import Final

from atlas.text.corpora import Pair

_TEXT: Final = """
The cat sat on the chair because it was tired.
    Le chat s'est assis sur la chaise parce qu'il était fatigué.
The dog that we saw yesterday is in the garden again.
    Le chien que nous avons vu hier est encore dans le jardin.
My sister bought a car, but she never drives it.
    Ma sœur a acheté une voiture, mais elle ne la conduit jamais.
I don't know what you want.
    Je ne sais pas ce que tu veux.
Where is the station?
    Où est la gare ?
She opened the window, and the bird flew away.
    Elle a ouvert la fenêtre, et l'oiseau s'est envolé.
We have been waiting here for two hours.
    Nous attendons ici depuis deux heures.
The children are playing in the street.
    Les enfants jouent dans la rue.
He told me that he would come tomorrow.
    Il m'a dit qu'il viendrait demain.
The book on the table is not mine.
    Le livre sur la table n'est pas le mien.
If it rains, we will stay at home.
    S'il pleut, nous resterons à la maison.
They lost the key, so they could not open the door.
    Ils ont perdu la clé, donc ils n'ont pas pu ouvrir la porte.
A woman in a red coat is reading a newspaper.
    Une femme en manteau rouge lit un journal.
Two men are standing on a bridge.
    Deux hommes se tiennent sur un pont.
The old man gave his coat to the boy because he was cold.
    Le vieil homme a donné son manteau au garçon parce qu'il avait froid.
What did you do last night?
    Qu'as-tu fait hier soir ?
This is the house in which I was born.
    C'est la maison dans laquelle je suis né.
I like coffee, but my brother prefers tea.
    J'aime le café, mais mon frère préfère le thé.
The teacher asked the pupils to close their books.
    Le professeur a demandé aux élèves de fermer leurs livres.
Please speak more slowly.
    Parlez plus lentement, s'il vous plaît.
Nobody knew why the train was late.
    Personne ne savait pourquoi le train était en retard.
The apples that you bought are very good.
    Les pommes que tu as achetées sont très bonnes.
I have never seen such a beautiful lake.
    Je n'ai jamais vu un aussi beau lac.
Her parents live in a small village near the sea.
    Ses parents vivent dans un petit village près de la mer.
Put the glass on the table before it falls.
    Pose le verre sur la table avant qu'il ne tombe.
The boy broke the window and ran away.
    Le garçon a cassé la fenêtre et s'est enfui.
You should tell him the truth.
    Tu devrais lui dire la vérité.
How much does this cost?
    Combien cela coûte-t-il ?
The doctor said that the child needed rest.
    Le docteur a dit que l'enfant avait besoin de repos.
It is too hot to work today.
    Il fait trop chaud pour travailler aujourd'hui.
A black dog is running along the beach.
    Un chien noir court le long de la plage.
We could hear the music, although the door was closed.
    Nous entendions la musique, bien que la porte fût fermée.
My friends and I went to the cinema on Sunday.
    Mes amis et moi sommes allés au cinéma dimanche.
He forgot his umbrella, his hat and his gloves.
    Il a oublié son parapluie, son chapeau et ses gants.
Did you find the letter that I left for you?
    As-tu trouvé la lettre que je t'ai laissée ?
The soup is cold; bring me another one.
    La soupe est froide ; apporte-m'en une autre.
She speaks French better than she writes it.
    Elle parle français mieux qu'elle ne l'écrit.
The mountain is covered with snow in winter.
    La montagne est couverte de neige en hiver.
I think that they are right.
    Je pense qu'ils ont raison.
The girl with the long hair is my cousin.
    La fille aux longs cheveux est ma cousine.
When he arrived, everybody had already left.
    Quand il est arrivé, tout le monde était déjà parti.
The shop closes at six, doesn't it?
    Le magasin ferme à six heures, n'est-ce pas ?
A child is throwing a ball to a dog.
    Un enfant lance une balle à un chien.
He bought bread, cheese and some fruit.
    Il a acheté du pain, du fromage et quelques fruits.
Our neighbours sold their house because it was too big.
    Nos voisins ont vendu leur maison parce qu'elle était trop grande.
I would like to learn to swim.
    J'aimerais apprendre à nager.
The bus stops in front of the school.
    Le bus s'arrête devant l'école.
No, I am not hungry.
    Non, je n'ai pas faim.
The man whose car was stolen called the police.
    L'homme dont la voiture a été volée a appelé la police.
The film was long, but we liked it.
    Le film était long, mais nous l'avons aimé.
"""

_LINES: Final = [line.strip() for line in _TEXT.strip().splitlines()]
PAIRS: Final[tuple[Pair, ...]] = tuple(map(Pair, _LINES[::2], _LINES[1::2]))
"""English and French, written for this project."""
