"""Attention Atlas: the entry point of the application.

Streamlit runs this file as a script for every visit: navigation only, every page sets itself up. The server
imports it once, for what it serves: the same script behind the security headers.
"""

if __name__ == "__main__":
    import pandas  # noqa: F401  Whole before two first visits at once reach it by different ways.

    from atlas.ui.navigation import run

    run()
else:
    from starlette.middleware import Middleware
    from streamlit.starlette import App

    from atlas.ui.security import SecurityHeaders, embedders
    from atlas.ui.serving import opened_browser
    from atlas.ui.tabs import BoundedTabs
    from atlas.ui.uploads import BoundedUploads

    app = App(
        __file__,
        middleware=[
            Middleware(SecurityHeaders, embed_in=embedders()),
            Middleware(BoundedTabs),
            Middleware(BoundedUploads),
        ],
        lifespan=opened_browser,
    )
