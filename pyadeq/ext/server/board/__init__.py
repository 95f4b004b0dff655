"""The board: pages for people, made on the server. They work without JavaScript; with it, their rows stay current.

A screen is a module with a `router` of `page.pages()`, named in `application.BOARD`, and a template of its name. It
reads through the client, behind the same `gate.access` as the API. What all open pages need goes through `looks`, so
that two hundred of them cost the server as much as one. It writes by forms, and a form is a request of the API (see
`forms`), so each right is checked in one place. Nothing is inline: no style, no script. `data-id` marks rows that the
script of the page finds again.
"""
