import * as vscode from 'vscode'

import { type Collector, Ranking, type ResultList } from './core/collect'
import { withQuery } from './core/history'
import type { Headline } from './core/headline'
import { type AnyMode, KEYWORD, MODES, type Search, termsIn, termsText } from './core/modes'
import { type SearchAnswer, feedback, suggestTerms } from './core/protocol'
import type { Row } from './core/rows'
import type { Searches } from './core/searches'
import { ServerMissing } from './locator'
import { log, messageOf } from './log'
import type { Consent } from './consent'
import type { Previews } from './previews'
import type { Server } from './server'
import { editorExcludes } from './settings'

/** Delay after typing before a live search starts. */
const TYPING_MS = 120
/** Delay after typing before the picker requests suggested terms. */
const SUGGEST_MS = 60
/** Delay before a preview, so that fast moves skip rows. */
const PREVIEW_MS = 50
/** Minimum interval between updates of the list; with a shorter one it flickers. */
const RENDER_MS = 100
/**
 * Delay of list updates after the user moved. An update sets the active row that the extension knows,
 * so it would undo a move whose event hasn't arrived yet.
 */
const MOVE_PAUSE_MS = 350
/** After an update, events for this long may refer to the previous list. */
const ECHO_MS = 150
const HISTORY = 'winnow.history.'
const NONE = new vscode.CancellationTokenSource().token

interface Item extends vscode.QuickPickItem {
  readonly row?: Row
  readonly run?: () => void
}

const button = (icon: string, tooltip: string): vscode.QuickInputButton => ({
  iconPath: new vscode.ThemeIcon(icon),
  tooltip,
})
const TO_SIDE = button('split-horizontal', 'Open to the Side')
const DOCUMENT = button('go-to-file', 'Open Original Document')
const DETAILS = button('info', 'Show Search Details')
const IN_VIEW = button('list-tree', 'Show in Results View')
const TERMS = button('list-ordered', 'Change Search Terms')
const IGNORED = button('eye', 'Include Ignored and Hidden Files')
const NOT_IGNORED = button('eye-closed', 'Exclude Ignored and Hidden Files')

/** The parts of the extension that pickers use. */
export interface PickerServices {
  readonly context: vscode.ExtensionContext
  readonly server: Server
  readonly previews: Previews
  readonly searches: Searches
  readonly consent: Consent
  /** Called after a search was stored or a result opened. */
  readonly searchesChanged: () => void
  /** Report that no server was found and offer to install it. */
  readonly offerServer: (problem: ServerMissing) => Promise<void>
}

/** The state of a closed picker, to resume it. */
export interface PickerState {
  readonly mode: AnyMode
  readonly query: string
  readonly search: Search | undefined
  readonly active: string | undefined
  readonly filter: string
}

type Phase = 'query' | 'terms' | 'results'

/** A quick pick that prompts for a query, shows results and opens one. */
export class Picker {
  private readonly pick = vscode.window.createQuickPick<Item>()
  private phase: Phase = 'query'
  private query = ''
  private terms: readonly string[] = []
  private suggestions: Promise<readonly string[]> = Promise.resolve([])
  private includeIgnored = false
  private running: vscode.CancellationTokenSource | undefined
  private collector: Collector<unknown, SearchAnswer> | undefined
  private list: ResultList = { rows: [], chosenCount: 0 }
  private headline: Headline | undefined
  private searchId = ''
  private search: Search | undefined
  private activeKey: string | undefined
  private movedAt = 0
  private renderedAt = 0
  private firstKey: string | undefined
  /** True if the list has the row that asks for consent. */
  private showsConsent = false
  private accepted = false
  private readonly timers = new Map<string, NodeJS.Timeout>()

  constructor(
    private readonly services: PickerServices,
    private readonly mode: AnyMode,
    private readonly onClose: (state: PickerState) => void,
  ) {
    const { pick } = this
    pick.matchOnDescription = true
    pick.matchOnDetail = true
    // An undocumented property that disables sorting by label matches, to keep the answer's order.
    ;(pick as { sortByLabel?: boolean }).sortByLabel = false
    pick.onDidChangeValue(() => this.valueChanged())
    pick.onDidAccept(() => void this.acceptItem())
    pick.onDidChangeActive(([item]) => this.activeChanged(item))
    pick.onDidTriggerButton((button) => this.buttonPressed(button))
    pick.onDidTriggerItemButton(({ item, button }) => void this.itemButtonPressed(item, button))
    pick.onDidHide(() => void this.onHide())
  }

  /** Prompt for a query, with an initial value. */
  prompt(query = ''): void {
    this.query = query
    this.phase = this.mode.live ? 'results' : 'query'
    this.pick.value = query
    this.pick.placeholder = this.mode.placeholder
    this.showTitle()
    this.pick.show()
    this.valueChanged()
  }

  /** Show the results of an earlier search again. */
  resume({ query, search, active, filter }: PickerState): void {
    if (!search) {
      this.prompt(query)
      return
    }
    this.query = query
    this.terms = search.terms
    this.search = search
    this.searchId = search.searchId
    this.list = search
    this.headline = search.headline
    this.activeKey = active
    this.enterResults(filter)
    // Render before showing, because the user may move in the list immediately.
    this.render()
    this.pick.show()
  }

  /** Run a search again. */
  rerun(query: string, terms: readonly string[]): void {
    this.pick.show()
    void this.run(query, terms)
  }

  // --- query -------------------------------------------------------------------------------

  private valueChanged(): void {
    const value = this.pick.value.trim()
    if (this.phase === 'query') {
      this.query = value
      this.showQueries([])
      if (this.mode === KEYWORD) this.later('suggest', SUGGEST_MS, () => this.suggest(value))
    } else if (this.phase === 'results' && this.mode.live && value !== this.query) {
      this.query = value
      this.cancel()
      this.later('search', TYPING_MS, () => void this.run(value, []))
    }
  }

  private suggest(query: string): void {
    this.suggestions = query
      ? this.services.server.request(suggestTerms, { query }, NONE).then(
          ({ terms }) => terms,
          (error: unknown) => {
            log.info(`Could not suggest terms: ${messageOf(error)}`)
            return []
          },
        )
      : Promise.resolve([])
    void this.suggestions.then((terms) => {
      if (this.phase === 'query' && this.query === query) this.showQueries(terms)
    })
  }

  /** Show the actions for the query and earlier queries. */
  private showQueries(suggestedTerms: readonly string[]): void {
    const items: Item[] = []
    const { query } = this
    if (query) {
      items.push({
        label: `$(${this.mode.icon}) Search for “${query}”`,
        ...(suggestedTerms.length ? { detail: `Terms: ${termsText(suggestedTerms)}` } : {}),
        alwaysShow: true,
        run: () => void this.start(query),
      })
      if (this.mode === KEYWORD) {
        items.push({
          label: '$(list-ordered) Choose the terms…',
          alwaysShow: true,
          run: () => void this.editTerms(),
        })
      }
    }
    const history = this.history()
    if (history.length) items.push({ label: 'earlier queries', kind: vscode.QuickPickItemKind.Separator })
    for (const earlier of history) {
      if (earlier !== query) {
        items.push({ label: `$(history) ${earlier}`, run: () => void this.start(earlier) })
      }
    }
    this.pick.items = items
  }

  private async editTerms(): Promise<void> {
    const terms = this.terms.length ? this.terms : await this.suggestions
    this.phase = 'terms'
    this.pick.items = [
      {
        label: '$(search) Search for these terms',
        detail: 'Regular expressions, separated by commas, the most important first',
        alwaysShow: true,
        run: () => void this.run(this.query, termsIn(this.pick.value)),
      },
    ]
    this.pick.value = termsText(terms)
    this.pick.placeholder = 'Which words might the code use?'
  }

  private async start(query: string): Promise<void> {
    if (this.mode !== KEYWORD) {
      await this.run(query, [])
      return
    }
    // The user may press Enter before the picker has requested suggestions.
    if (this.timers.has('suggest') || query !== this.query) {
      this.clearTimer('suggest')
      this.query = query
      this.suggest(query)
    }
    const terms = await this.suggestions
    // A query of punctuation has no suggested terms: search for it literally.
    await this.run(query, terms.length ? terms : [query.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')])
  }

  // --- searching ---------------------------------------------------------------------------

  private async run(query: string, terms: readonly string[]): Promise<void> {
    this.cancel()
    if (!query) {
      this.collector = undefined
      this.list = { rows: [], chosenCount: 0 }
      this.headline = undefined
      this.render()
      return
    }
    this.query = query
    this.terms = terms
    if (!this.mode.live) this.addToHistory()
    this.enterResults(this.mode.live ? this.pick.value : '')
    const running = new vscode.CancellationTokenSource()
    this.running = running
    this.pick.busy = true
    this.headline = undefined
    this.search = undefined
    this.activeKey = undefined
    this.movedAt = 0
    this.renderedAt = 0
    this.collector = undefined
    this.showTitle()
    if (!this.mode.live) {
      this.list = { rows: [], chosenCount: 0 }
      this.pick.items = []
    }
    const { mode, services } = this
    const choices = { terms, exclude: editorExcludes(), ignored: this.includeIgnored }
    try {
      await services.server.ensureStarted()
      const collector = mode.collector(services.server.root) as Collector<unknown, SearchAnswer>
      const isCurrent = () => this.running === running
      const result: SearchAnswer = await services.server.request(
        mode.request,
        mode.params(query, choices),
        running.token,
        (value: unknown) => {
          if (!isCurrent()) return
          this.collector = collector
          collector.partial(value)
          this.update()
        },
      )
      if (!isCurrent()) return
      this.collector = collector
      collector.result(result)
      this.finish(result)
    } catch (error) {
      if (this.running !== running || error instanceof vscode.CancellationError) return
      this.fail(error)
    }
  }

  private finish(result: SearchAnswer): void {
    this.running = undefined
    this.pick.busy = false
    this.searchId = result.search_id
    this.headline = this.mode.headline(result)
    if (!this.mode.live) this.saveSearch()
    this.clearTimer('render')
    // Without results, the list shows why.
    if (!this.collector?.list().rows.length) this.render()
    this.update()
  }

  private fail(error: unknown): void {
    this.running = undefined
    this.pick.busy = false
    log.warn(`${this.mode.title}: ${messageOf(error)}`)
    if (error instanceof ServerMissing) {
      this.pick.hide()
      void this.services.offerServer(error)
      return
    }
    const rows = this.collector?.list().rows.length
    this.headline = { parts: ['failed'], details: [messageOf(error)] }
    this.showTitle()
    const retry: Item = {
      label: `$(error) ${messageOf(error)}`,
      detail: 'Press Enter to try again',
      alwaysShow: true,
      run: () => void this.run(this.query, this.terms),
    }
    this.pick.items = rows ? [retry, ...this.items()] : [retry]
  }

  /** Cancel the running search. The server kills the processes it started for it. */
  private cancel(): void {
    this.clearTimer('search')
    this.clearTimer('render')
    this.running?.cancel()
    this.running?.dispose()
    this.running = undefined
    this.pick.busy = false
  }

  // --- results -----------------------------------------------------------------------------

  private enterResults(value: string): void {
    this.phase = 'results'
    if (this.pick.value !== value) this.pick.value = value
    this.pick.placeholder = this.mode.live ? this.mode.placeholder : 'Filter the results'
    this.pick.buttons = [
      ...(this.mode.live ? [] : [vscode.QuickInputButtons.Back]),
      ...(this.mode === KEYWORD ? [TERMS] : []),
      ...(this.mode.scoped ? [this.includeIgnored ? NOT_IGNORED : IGNORED] : []),
      IN_VIEW,
      DETAILS,
    ]
    this.showTitle()
  }

  /** Render the first rows immediately, later ones at intervals, and none while the user moves. */
  private update(): void {
    if (this.timers.has('render')) return
    const pause = this.movedAt + MOVE_PAUSE_MS - Date.now()
    if (pause > 0) {
      this.later('render', pause, () => this.update())
      return
    }
    const previous = this.list
    // The row the user moved to stays, even if the answer no longer contains it.
    const row = this.movedAt ? previous.rows.find(({ key }) => key === this.activeKey) : undefined
    this.list = withRow(this.collector?.list() ?? previous, row, previous)
    if (!isSame(previous, this.list) || this.needsConsent !== this.showsConsent) this.render()
    this.showTitle()
    if (this.running) this.later('render', RENDER_MS, () => this.running && this.update())
  }

  private render(): void {
    this.showTitle()
    const items = this.items()
    const first = items.find((item) => item.row)
    const previous = items.find((item) => item.row && item.row.key === this.activeKey)
    const active = this.followsBest ? first : (previous ?? first)
    // The first time, the list scrolls to its active row; later it keeps its position.
    this.pick.keepScrollPosition = this.renderedAt > 0
    this.renderedAt = Date.now()
    this.showsConsent = this.needsConsent
    this.firstKey = first?.row?.key
    this.pick.items = items
    if (active) {
      this.activeKey = active.row?.key
      this.pick.activeItems = [active]
    }
  }

  /**
   * True if the best row is always active: until the user moves, while the local ranker orders
   * partial results, which takes only a moment.
   */
  private get followsBest(): boolean {
    const isLocal = this.collector instanceof Ranking && this.collector.rankedBy.kind === 'local'
    return isLocal && !this.movedAt
  }

  private items(): Item[] {
    const { rows, chosenCount } = this.list
    const items: Item[] = rows.map((row) => ({
      row,
      label: row.label,
      description: row.description,
      ...(row.detail ? { detail: row.detail } : {}),
      alwaysShow: this.mode.live,
      buttons: row.document ? [DOCUMENT, TO_SIDE] : [TO_SIDE],
    }))
    if (chosenCount < rows.length) {
      const label = chosenCount ? 'also found, not chosen by the model' : 'not chosen by the model'
      items.splice(chosenCount, 0, { label, kind: vscode.QuickPickItemKind.Separator })
    }
    if (!items.length && this.headline) {
      items.push({ label: '$(info) No results', alwaysShow: true, run: () => this.showDetails() })
      for (const note of this.headline.details.slice(0, 6)) {
        items.push({ label: note, alwaysShow: true, run: () => this.showDetails() })
      }
    }
    const destinations = this.headline?.needsConsent
    if (destinations) {
      items.push(
        { label: 'ranked without a model', kind: vscode.QuickPickItemKind.Separator },
        {
          label: '$(shield) Let a language model rank…',
          detail: `Matching lines would be sent to ${destinations.join(', ')}, with secrets masked`,
          alwaysShow: true,
          run: () => void this.letModelRank(),
        },
      )
    }
    return items
  }

  /** Ask for consent. With it, search again with the model; otherwise show the same list again. */
  private async letModelRank(): Promise<void> {
    const { mode, services, query, terms, search, activeKey: active } = this
    const isAllowed = await services.consent.decide()
    const next = new Picker(services, mode, this.onClose)
    if (isAllowed) next.rerun(query, terms)
    else next.resume({ mode, query, search, active, filter: '' })
  }

  private get needsConsent(): boolean {
    return this.headline?.needsConsent !== undefined
  }

  private showTitle(): void {
    const { title } = this.mode
    const search = this.mode.live || this.phase === 'query' ? title : `${title}: ${this.query}`
    const parts = this.headline?.parts ?? (this.running ? ['searching…'] : [])
    this.pick.title = [`Winnow ${search}`, ...parts].join('  ·  ')
  }

  private activeChanged(item: Item | undefined): void {
    if (this.phase !== 'results' || !item?.row || item.row.key === this.activeKey) return
    const { row } = item
    // For a moment after an update, the quick pick reports the first row as active.
    if (row.key === this.firstKey && Date.now() - this.renderedAt < ECHO_MS) {
      // If the user moved to the first row, it is still active after that moment.
      this.later('echo', ECHO_MS, () => this.activeChanged(this.pick.activeItems[0]))
      return
    }
    this.activeKey = row.key
    this.movedAt = Date.now()
    this.later('preview', PREVIEW_MS, () => void this.services.previews.show(row.place))
  }

  // --- actions -----------------------------------------------------------------------------

  private async acceptItem(): Promise<void> {
    const item = this.pick.selectedItems[0] ?? this.pick.activeItems[0]
    if (item?.row) await this.open(item.row)
    else if (item?.run) item.run()
    else if (this.phase === 'query' && this.query) await this.start(this.query)
  }

  private async open(row: Row, column?: vscode.ViewColumn): Promise<void> {
    this.accepted = true
    this.activeKey = row.key
    if (this.mode.live) {
      this.addToHistory()
      this.saveSearch()
    }
    this.clearTimer('preview')
    this.pick.hide()
    try {
      await this.services.previews.open(row.place, column)
    } catch (error) {
      void vscode.window.showErrorMessage(`Winnow: could not open ${row.displayPath}: ${messageOf(error)}`)
    }
    if (this.search) this.services.searches.opened(this.search.id, row.key)
    this.services.searchesChanged()
    this.reportOpened(row)
  }

  private reportOpened(row: Row): void {
    if (!this.searchId) return
    const rank = this.list.rows.findIndex(({ key }) => key === row.key) + 1
    const params = { search_id: this.searchId, path: row.path, action: 'opened' as const, rank }
    this.services.server.request(feedback, params, NONE).catch((error: unknown) => {
      log.info(`Could not record the opened result: ${messageOf(error)}`)
    })
  }

  private buttonPressed(button: vscode.QuickInputButton): void {
    if (button === vscode.QuickInputButtons.Back) {
      this.cancel()
      this.headline = undefined
      this.pick.buttons = []
      this.prompt(this.query)
    } else if (button === TERMS) {
      this.cancel()
      void this.editTerms()
    } else if (button === IGNORED || button === NOT_IGNORED) {
      this.includeIgnored = button === IGNORED
      void this.run(this.query, this.terms)
    } else if (button === DETAILS) {
      this.showDetails()
    } else if (button === IN_VIEW) {
      this.saveSearch()
      this.pick.hide()
      void vscode.commands.executeCommand('winnow.results.focus')
    }
  }

  private async itemButtonPressed(item: Item, button: vscode.QuickInputButton): Promise<void> {
    if (!item.row) return
    if (button === TO_SIDE) await this.open(item.row, vscode.ViewColumn.Beside)
    else if (item.row.document) await openDocument(item.row.document)
  }

  private showDetails(): void {
    const { headline } = this
    if (!headline) return
    log.info([`${this.mode.title}: ${this.query}`, ...headline.parts, ...headline.details].join('\n  '))
    log.show(true)
  }

  private async onHide(): Promise<void> {
    this.cancel()
    for (const timer of this.timers.values()) clearTimeout(timer)
    const { mode, query, search, activeKey: active } = this
    const filter = this.phase === 'results' ? this.pick.value : ''
    this.pick.dispose()
    if (query) this.onClose({ mode, query, search, active, filter })
    if (!this.accepted) await this.services.previews.restore()
  }

  // --- stored state ------------------------------------------------------------------------

  private saveSearch(): void {
    const { rows, chosenCount } = this.collector?.list() ?? this.list
    if (!this.headline || !rows.length || this.search) return
    this.search = this.services.searches.add({
      mode: this.mode,
      query: this.query,
      terms: this.terms,
      rows,
      chosenCount,
      headline: this.headline,
      searchId: this.searchId,
    })
    this.services.searchesChanged()
  }

  private history(): string[] {
    return this.services.context.workspaceState.get<string[]>(HISTORY + this.mode.id, [])
  }

  private addToHistory(): void {
    const name = HISTORY + this.mode.id
    void this.services.context.workspaceState.update(name, withQuery(this.history(), this.query))
  }

  private later(name: string, milliseconds: number, run: () => void): void {
    this.clearTimer(name)
    const timer = setTimeout(() => {
      this.timers.delete(name)
      run()
    }, milliseconds)
    this.timers.set(name, timer)
  }

  private clearTimer(name: string): void {
    clearTimeout(this.timers.get(name))
    this.timers.delete(name)
  }
}

/** Insert a row that the answer dropped, so that it does not vanish under the cursor. */
function withRow(list: ResultList, row: Row | undefined, previous: ResultList): ResultList {
  if (!row || list.rows.some(({ key }) => key === row.key)) return list
  const { rows, chosenCount } = list
  const allChosen = chosenCount === rows.length
  // Never among the rows a model chose.
  const index = Math.min(Math.max(previous.rows.indexOf(row), allChosen ? 0 : chosenCount), rows.length)
  const withInserted = [...rows.slice(0, index), row, ...rows.slice(index)]
  return { rows: withInserted, chosenCount: allChosen ? withInserted.length : chosenCount }
}

/** True if the lists look the same. */
function isSame(left: ResultList, right: ResultList): boolean {
  return (
    left.chosenCount === right.chosenCount &&
    left.rows.length === right.rows.length &&
    left.rows.every((row, index) => {
      const other = right.rows[index]
      return row.key === other?.key && row.label === other.label && row.detail === other.detail
    })
  )
}

/** Open a document in the system's default program, or in the editor if that is remote. */
export async function openDocument(uri: string): Promise<void> {
  const document = vscode.Uri.parse(uri, true)
  const isLocal = vscode.env.uiKind === vscode.UIKind.Desktop && !vscode.env.remoteName
  if (isLocal) await vscode.env.openExternal(document)
  else await vscode.commands.executeCommand('vscode.open', document.with({ fragment: '' }))
}

/** Let the user choose a search mode. */
export async function chooseMode(): Promise<AnyMode | undefined> {
  const items = MODES.map((mode) => ({
    label: `$(${mode.icon}) ${mode.title}`,
    detail: mode.description,
    mode,
  }))
  const chosen = await vscode.window.showQuickPick(items, {
    title: 'Winnow: Search…',
    placeHolder: 'Choose a kind of search',
    matchOnDetail: true,
  })
  return chosen?.mode
}

/** Let the user choose a query from the history of all modes, the latest of each mode first. */
export async function chooseFromHistory(
  context: vscode.ExtensionContext,
): Promise<{ mode: AnyMode; query: string } | undefined> {
  const items = MODES.flatMap((mode) =>
    context.workspaceState.get<string[]>(HISTORY + mode.id, []).map((query) => ({
      label: `$(${mode.icon}) ${query}`,
      description: mode.title,
      mode,
      query,
    })),
  )
  return vscode.window.showQuickPick(items, {
    title: 'Winnow: Search History',
    placeHolder: items.length ? 'Search again' : 'No searches yet',
    matchOnDescription: true,
  })
}
