"""Write all pages, the generated part of the extension's package.json, and the API's type stub."""

from __future__ import annotations

import asyncio

from reference.extension import PACKAGE, package_text
from reference.methods import STUB, stub_text
from reference.pages import DOCS, all_pages, generated_files


def main() -> None:
    pages = asyncio.run(all_pages())
    for file in generated_files() - pages.keys():
        (DOCS / file).unlink()
    for file, text in pages.items():
        (DOCS / file).parent.mkdir(exist_ok=True)
        (DOCS / file).write_bytes(text.encode())
    PACKAGE.write_bytes(package_text().encode())
    STUB.write_bytes(stub_text().encode())


main()
