"""Show the picker on the terminal, and pass keys, answers and previews to its state."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    BufferControl,
    Container,
    Dimension,
    DynamicContainer,
    HSplit,
    Layout,
    UIContent,
    UIControl,
    VSplit,
    Window,
)
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.mouse_events import MouseEvent, MouseEventType
from prompt_toolkit.output import ColorDepth, create_output
from prompt_toolkit.styles import Style

from winnow.frontends.cli.picker import view
from winnow.frontends.cli.picker.preview import read_preview, read_shared_preview
from winnow.frontends.cli.picker.searches import Searches, SearchFailed
from winnow.frontends.cli.picker.state import Action, Choice, Picker

# From this width on, the preview is beside the list; below this height there is none.
WIDE, HIGH = 100, 12
# The delay after typing before a search starts, and before the screen says that it runs.
TYPING_SECONDS, QUIET_SECONDS = 0.05, 0.25
# How long a terminal may take to send the rest of a key that begins with Escape.
ESCAPE_SECONDS = 0.1
# A pasted stack trace has many lines.
PROMPT_LINES = 3
STYLE = Style.from_dict(
    {
        "prompt": "bold",
        "marker": "ansired bold",
        "name": "bold",
        "selected": "bold reverse",
        "match": "ansired bold",
        "dim": "dim",
        "number": "dim",
        "best": "bold",
        "note": "ansiyellow",
    }
)

Lines = Callable[[int, int], list[view.Line]]


class Screen:
    """The application: the prompt, the list and the preview. Created inside a running event loop.

    ``opens`` is True if Enter opens a row in an editor.
    """

    def __init__(self, picker: Picker, searches: Searches, *, opens: bool) -> None:
        self._picker = picker
        self._searches = searches
        self._opens = opens
        self._output = create_output()
        self._search: asyncio.Task[None] | None = None
        self._preview: asyncio.Task[None] | None = None
        self._list = _List(picker, self._moved)
        self._prompt = Buffer(multiline=False, on_text_changed=lambda _: self._typed())
        self._application: Application[Choice | None] = Application(
            layout=Layout(self._container()),
            key_bindings=self._keys(),
            style=STYLE,
            color_depth=ColorDepth.DEPTH_1_BIT if "NO_COLOR" in os.environ else None,
            full_screen=True,
            mouse_support=True,
            output=self._output,
        )
        self._application.timeoutlen = self._application.ttimeoutlen = ESCAPE_SECONDS

    async def run(self) -> Choice | None:
        """Show the picker until the user has chosen a row. Return None if they quit."""
        return await self._application.run_async()

    # --- layout ----------------------------------------------------------------------------

    def _container(self) -> Container:
        control = BufferControl(self._prompt, [BeforeInput("> ", style="class:prompt")])
        prompt = Window(control, height=Dimension(min=1, max=PROMPT_LINES), dont_extend_height=True)
        results = Window(self._list)
        preview = Window(_Drawn(lambda *size: view.preview_lines(self._picker, *size)))
        beside = VSplit([results, Window(width=1, char="│", style="class:dim"), preview])
        below = HSplit([results, Window(height=1, char="─", style="class:dim"), preview])
        alone = HSplit([results])

        def body() -> Container:
            rows, columns = self._output.get_size()
            if columns >= WIDE:
                return beside
            return below if rows >= HIGH else alone

        return HSplit(
            [
                prompt,
                _line(lambda width: [view.summary_line(self._picker, width)]),
                DynamicContainer(body),
                _line(lambda width: view.note_lines(self._picker, width)),
                _line(lambda width: [view.keys_line(width, opens=self._opens)]),
            ]
        )

    # --- keys ------------------------------------------------------------------------------

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        def bind(*names: str, do: Callable[[], object]) -> None:
            for name in names:
                keys.add(name)(lambda event: do() and None)

        bind("up", "c-p", do=lambda: self._move(-1))
        bind("down", "c-n", do=lambda: self._move(1))
        bind("pageup", do=lambda: self._move(-self._list.page))
        bind("pagedown", do=lambda: self._move(self._list.page))
        bind("enter", do=lambda: self._end(self._picker.choose(Action.OPEN)))
        bind("c-o", do=lambda: self._end(self._picker.choose(Action.PRINT)))
        bind("escape", "c-c", "c-d", "<sigint>", do=lambda: self._application.exit(result=None))
        bind("c-u", do=self._clear)

        @keys.add("c-z")
        def suspend(event: KeyPressEvent) -> None:
            event.app.suspend_to_background()

        return keys

    def _clear(self) -> None:
        self._prompt.text = ""

    def _move(self, rows: int) -> None:
        self._picker.move(rows)
        self._moved()

    def _end(self, choice: Choice | None) -> None:
        if choice is not None and not self._application.is_done:
            self._application.exit(result=choice)

    # --- searches and previews -------------------------------------------------------------

    def _typed(self) -> None:
        number = self._picker.typed(self._prompt.text)
        if number is None:
            return
        if self._search is not None:
            self._search.cancel()
        if self._picker.query:
            self._search = self._start(partial(self._answer, number, self._picker.query))

    async def _answer(self, number: int, query: str) -> None:
        def report(progress: str) -> None:
            self._picker.report(number, progress)
            self._application.invalidate()

        await asyncio.sleep(TYPING_SECONDS)
        timer = asyncio.get_running_loop().call_later(QUIET_SECONDS, report, "searching…")
        answer = None
        try:
            answer = await self._searches.search(query, report)
            self._picker.answered(number, answer)
        except SearchFailed as failed:
            self._picker.failed(number, str(failed))
        finally:
            timer.cancel()
        self._list.first = 0
        self._moved()
        self._end(self._picker.decided())
        if answer is not None and answer.is_early:
            await self._refresh(number, query)

    async def _refresh(self, number: int, query: str) -> None:
        """Search again once the index is complete."""
        await self._searches.wait_for_index()
        with contextlib.suppress(SearchFailed):  # the earlier answer stays
            answer = await self._searches.search(query, lambda notice: None)
            self._picker.refreshed(number, answer)
            self._moved()

    def _moved(self) -> None:
        """Show the preview of the selected row."""
        self._application.invalidate()
        if self._preview is not None:
            self._preview.cancel()
        self._preview = self._start(self._read_preview)

    async def _read_preview(self) -> None:
        row, shown = self._picker.row, self._picker.preview
        if row is not None and (shown is None or shown.row != row):
            if row.repository:
                preview = await read_shared_preview(row, self._searches)
            else:
                preview = await asyncio.to_thread(read_preview, row)
            self._picker.previewed(preview)
            self._application.invalidate()

    def _start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        """Run work in the background. An error ends the picker, and is raised by :meth:`run`."""

        async def watched() -> None:
            try:
                await work()
            except Exception as error:
                if self._application.is_done:
                    raise
                self._application.exit(exception=error)

        return self._application.create_background_task(watched())


# --- controls ------------------------------------------------------------------------------


class _Drawn(UIControl):
    """A control that draws the lines of a function of the width and the height."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    def create_content(self, width: int, height: int) -> UIContent:
        lines = self._lines(width, height)
        return UIContent(lambda at: [*lines[at]], len(lines), show_cursor=False)


class _List(_Drawn):
    """The rows, from index ``first`` on. ``page`` is the number of visible rows."""

    def __init__(self, picker: Picker, moved: Callable[[], object]) -> None:
        super().__init__(self._visible)
        self._picker = picker
        self._moved = moved
        self.first = 0
        self.page = 1

    def mouse_handler(self, mouse_event: MouseEvent) -> None:
        steps = {MouseEventType.SCROLL_UP: -1, MouseEventType.SCROLL_DOWN: 1}
        if mouse_event.event_type in steps:
            self._picker.move(steps[mouse_event.event_type])
        elif mouse_event.event_type is MouseEventType.MOUSE_UP:
            self._picker.select(self.first + mouse_event.position.y // view.LINES_PER_ROW)
        self._moved()

    def _visible(self, width: int, height: int) -> list[view.Line]:
        self.page = max(1, height // view.LINES_PER_ROW)
        self.first = view.first_row(self.first, self._picker.selected, height)
        return view.list_lines(self._picker, self.first, width, height)


class _Fitting(_Drawn):
    """A control that is as high as its lines."""

    def preferred_height(
        self, width: int, max_available_height: int, wrap_lines: bool, get_line_prefix: object
    ) -> int:
        return len(self._lines(width, max_available_height))


def _line(lines: Callable[[int], list[view.Line]]) -> Window:
    return Window(_Fitting(lambda width, height: lines(width)), dont_extend_height=True)
