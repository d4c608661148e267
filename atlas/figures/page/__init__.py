"""A trace as one page of HTML that needs no server: :func:`atlas.figures.page.document.trace_page`."""
