"""A hook of mkdocs that adds every page of docs/decisions/ to the navigation."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig


def on_config(config: MkDocsConfig) -> None:
    docs = Path(config.docs_dir)
    pages = sorted((docs / "decisions").glob("*.md"), key=lambda page: (page.name != "index.md", page.name))
    config.nav.append({"Decisions": [page.relative_to(docs).as_posix() for page in pages]})
