"""Lists of English words, the commonest of everyday sentences and of image captions, lowercase.

They serve :mod:`atlas.analysis.antecedents`, which says what each list is for.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FORMS = {
    "it": _words("it its itself"),
    "he": _words("he him his himself"),
    "she": _words("she her hers herself"),
    "they": _words("they them their theirs themselves"),
}
"""Pronoun -> its forms."""
MALE = _words("""
    tom john jack bob jim bill peter paul mike ken george man boy guy gentleman father dad husband son
    brother uncle grandfather nephew king prince waiter actor policeman fireman fisherman businessman
    groom male cowboy mailman salesman
""")
"""Names and nouns that ``he`` can mean."""
FEMALE = _words("""
    mary alice jane ann anne kate susan lucy emily helen betty linda woman girl lady mother mom wife
    daughter sister aunt grandmother niece queen princess waitress actress bride female ballerina
    cheerleader
""")
"""Names and nouns that ``she`` can mean."""
PERSONS = _words("""
    person child kid baby toddler infant adult teenager teen friend teacher student doctor nurse lawyer
    driver player worker artist musician singer guitarist drummer chef cook officer soldier skateboarder
    skater surfer skier snowboarder biker cyclist bicyclist rider runner swimmer climber hiker dancer
    performer gymnast boxer wrestler athlete vendor customer shopper photographer painter writer author
    president boss neighbor clown jockey batter pitcher catcher goalie referee coach patient prisoner
    thief witness scientist
""")
"""Nouns for people of either sex."""
ANIMALS = _words("""
    dog cat puppy kitten horse bird cow bull elephant monkey bear lion tiger fox rabbit animal fish duck
    goat sheep pig donkey camel dalmatian retriever poodle terrier greyhound bulldog collie labrador
""")
"""Animals, which may be ``it``, ``he`` or ``she``."""
IRREGULAR = _words("""
    people men women children guys kids ladies babies policemen firemen businessmen parents
""")
"""Plurals without a rule."""
MANY = IRREGULAR | frozenset(f"{word}s" for word in MALE | FEMALE | PERSONS | ANIMALS)
"""Plurals that ``they`` can mean."""
DETERMINERS = _words("""
    a an the this that my your our his her its their these those some several many two three four five six
    seven eight nine ten another each every no any
""")
"""What a phrase begins with."""
PLURAL_ONLY = _words("""
    these those several many two three four five six seven eight nine ten
""")
"""Determiners of a plural."""
ADJECTIVES = _words("""
    big small little large huge tiny tall short long young old older elderly new red blue green yellow
    black white brown gray grey orange pink purple tan golden blond blonde dark light bright colorful
    beautiful pretty nice good bad great heavy empty full open closed wet dry dirty clean wooden metal
    plastic busy crowded poor rich famous happy sad tired other second third same whole very and asian
    african american middle aged
""")
"""What may stand between a determiner and its noun."""
TIMES = _words("""
    time times day days night morning afternoon evening week weeks month months year years hour hours
    minute minutes moment moments way ways lot lots few bit couple thing things pair group groups bunch
    crowd number kind sort one ones first last next only more most less such what rest same truth fact
    favor
""")
"""Nouns of time and quantity, and words that look like nouns after a determiner: no antecedents."""
FUNCTION = _words("""
    a an the this that these those my your our his her its their i you we he she it they me him them us
    and or but nor so because as if when while although though since until unless after before than
    whether who whom whose which what where why how to of in on at by for with from into onto out over
    under through up down off about around between behind beside near above below along across against
    during without within toward towards like past is are was were am be been being has have had do does
    did will would can could may might must shall should not no never always often just only too very also
    still yet now then here there away back again looks look looked stands sits lies runs walks holds held
    sat stood lay lying ran went came got gets made make makes said says saw sees took takes let put fell
    broke began gave ate left lost kept felt knew told it's he's she's they're isn't wasn't didn't doesn't
    don't can't won't couldn't wouldn't hasn't hadn't
""")
"""Words that end a phrase: function words, auxiliaries and the commonest irregular verbs."""
DUMMY_VERBS = _words("""
    is was will would may might must seems seemed takes took rains rained snows snowed
""")
"""Verbs before which ``it`` often stands for nothing."""
DUMMY_WORDS = _words("""
    raining snowing time late early dark cold hot warm hard easy difficult possible impossible important
    necessary obvious clear true likely better best nice good ok fun up o'clock
""")
"""Words that, after such a verb, say that ``it`` stands for nothing."""

PRONOUNS = _words("""
i you he she it we they me him her us them this that who which myself yourself himself herself itself
je tu il elle on nous vous ils elles te se lui leur eux ce cela ça qui que
""")
"""English and French personal, demonstrative and relative pronouns; French articles are not among them."""
