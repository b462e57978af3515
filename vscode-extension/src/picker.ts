import * as vscode from 'vscode'

import { type Collector, Ranking, type Shown } from './core/collect'
import { remembered } from './core/history'
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

/** A pause in typing after which a live search begins. */
const TYPING_MS = 120
/** Terms are proposed as somebody types. */
const PROPOSING_MS = 60
/** Moving through a list fast, not every row is shown. */
const PREVIEW_MS = 50
/** A list that is filled more often flickers. */
const RENDER_MS = 100
/**
 * So long after somebody has moved in the list it stays as it is. An update names the active row by
 * what is known here, and a move that is on its way meanwhile would be undone.
 */
const STILL_MS = 350
/** What is heard within this time of an update may be said of the list as it was. */
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

/** What pickers need of the rest. */
export interface Parts {
  readonly context: vscode.ExtensionContext
  readonly server: Server
  readonly previews: Previews
  readonly searches: Searches
  readonly consent: Consent
  /** A search has been added, or a result of one opened. */
  readonly kept: () => void
  /** No server was found: offers to install one. */
  readonly offerServer: (problem: ServerMissing) => Promise<void>
}

/** What is needed to show the last picker again. */
export interface Resumed {
  readonly mode: AnyMode
  readonly query: string
  readonly search: Search | undefined
  readonly active: string | undefined
  readonly filter: string
}

type Phase = 'query' | 'terms' | 'results'

/** One quick pick, from the question to the file that is opened. */
export class Picker {
  private readonly pick = vscode.window.createQuickPick<Item>()
  private phase: Phase = 'query'
  private query = ''
  private terms: readonly string[] = []
  private proposing: Promise<readonly string[]> = Promise.resolve([])
  private ignored = false
  private running: vscode.CancellationTokenSource | undefined
  private collector: Collector<unknown, SearchAnswer> | undefined
  private shown: Shown = { rows: [], others: 0 }
  private headline: Headline | undefined
  private searchId = ''
  private search: Search | undefined
  private activeKey: string | undefined
  private movedAt = 0
  private renderedAt = 0
  private firstKey: string | undefined
  /** Whether the list has the row that asks for consent. */
  private asks = false
  private accepted = false
  private readonly timers = new Map<string, NodeJS.Timeout>()

  constructor(
    private readonly parts: Parts,
    private readonly mode: AnyMode,
    private readonly ended: (resumed: Resumed) => void,
  ) {
    const { pick } = this
    pick.matchOnDescription = true
    pick.matchOnDetail = true
    // Not in the API, though there: an answer has an order, which letters in a label do not change.
    ;(pick as { sortByLabel?: boolean }).sortByLabel = false
    pick.onDidChangeValue(() => this.valueChanged())
    pick.onDidAccept(() => void this.acceptItem())
    pick.onDidChangeActive(([item]) => this.activeChanged(item))
    pick.onDidTriggerButton((button) => this.buttonPressed(button))
    pick.onDidTriggerItemButton(({ item, button }) => void this.itemButtonPressed(item, button))
    pick.onDidHide(() => void this.hidden())
  }

  /** Asks for a query, beginning with the one that is given. */
  ask(query = ''): void {
    this.query = query
    this.phase = this.mode.live ? 'results' : 'query'
    this.pick.value = query
    this.pick.placeholder = this.mode.placeholder
    this.showTitle()
    this.pick.show()
    this.valueChanged()
  }

  /** Shows the results of a search that was made before, as they were. */
  resume({ query, search, active, filter }: Resumed): void {
    if (!search) {
      this.ask(query)
      return
    }
    this.query = query
    this.terms = search.terms
    this.search = search
    this.searchId = search.searchId
    this.shown = search
    this.headline = search.headline
    this.activeKey = active
    this.enterResults(filter)
    // Before it is there: somebody may move in it at once.
    this.render()
    this.pick.show()
  }

  /** Makes a search once more. */
  again(query: string, terms: readonly string[]): void {
    this.pick.show()
    void this.run(query, terms)
  }

  // --- asking ------------------------------------------------------------------------------

  private valueChanged(): void {
    const value = this.pick.value.trim()
    if (this.phase === 'query') {
      this.query = value
      this.showQueries([])
      if (this.mode === KEYWORD) this.later('propose', PROPOSING_MS, () => this.propose(value))
    } else if (this.phase === 'results' && this.mode.live && value !== this.query) {
      this.query = value
      this.cancel()
      this.later('search', TYPING_MS, () => void this.run(value, []))
    }
  }

  private propose(query: string): void {
    this.proposing = query
      ? this.parts.server.ask(suggestTerms, { query }, NONE).then(
          ({ terms }) => terms,
          (error: unknown) => {
            log.info(`Could not suggest terms: ${messageOf(error)}`)
            return []
          },
        )
      : Promise.resolve([])
    void this.proposing.then((terms) => {
      if (this.phase === 'query' && this.query === query) this.showQueries(terms)
    })
  }

  /** What can be done with the query so far, and the queries before it. */
  private showQueries(proposed: readonly string[]): void {
    const items: Item[] = []
    const { query } = this
    if (query) {
      items.push({
        label: `$(${this.mode.icon}) Search for “${query}”`,
        ...(proposed.length ? { detail: `Terms: ${termsText(proposed)}` } : {}),
        alwaysShow: true,
        run: () => void this.start(query),
      })
      if (this.mode === KEYWORD) {
        items.push({
          label: '$(list-ordered) Choose the terms…',
          alwaysShow: true,
          run: () => void this.askTerms(),
        })
      }
    }
    const history = this.history()
    if (history.length) items.push({ label: 'before', kind: vscode.QuickPickItemKind.Separator })
    for (const before of history) {
      if (before !== query) {
        items.push({ label: `$(history) ${before}`, run: () => void this.start(before) })
      }
    }
    this.pick.items = items
  }

  private async askTerms(): Promise<void> {
    const terms = this.terms.length ? this.terms : await this.proposing
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
    // Enter may come before what it needs has been proposed.
    if (this.timers.has('propose') || query !== this.query) {
      this.clearTimer('propose')
      this.query = query
      this.propose(query)
    }
    const terms = await this.proposing
    // Of signs alone there is no word to search for.
    await this.run(query, terms.length ? terms : [query.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')])
  }

  // --- searching ---------------------------------------------------------------------------

  private async run(query: string, terms: readonly string[]): Promise<void> {
    this.cancel()
    if (!query) {
      this.collector = undefined
      this.shown = { rows: [], others: 0 }
      this.headline = undefined
      this.render()
      return
    }
    this.query = query
    this.terms = terms
    if (!this.mode.live) this.remember()
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
      this.shown = { rows: [], others: 0 }
      this.pick.items = []
    }
    const { mode, parts } = this
    const choices = { terms, exclude: editorExcludes(), ignored: this.ignored }
    try {
      await parts.server.started()
      const collector = mode.collector(parts.server.root) as Collector<unknown, SearchAnswer>
      const mine = () => this.running === running
      const result: SearchAnswer = await parts.server.ask(
        mode.request,
        mode.params(query, choices),
        running.token,
        (value: unknown) => {
          if (!mine()) return
          this.collector = collector
          collector.partial(value)
          this.update()
        },
      )
      if (!mine()) return
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
    if (!this.mode.live) this.keep()
    this.clearTimer('render')
    // Where nothing was found there is something to say, too.
    if (!this.collector?.shown().rows.length) this.render()
    this.update()
  }

  private fail(error: unknown): void {
    this.running = undefined
    this.pick.busy = false
    log.warn(`${this.mode.title}: ${messageOf(error)}`)
    if (error instanceof ServerMissing) {
      this.pick.hide()
      void this.parts.offerServer(error)
      return
    }
    const rows = this.collector?.shown().rows.length
    this.headline = { parts: ['failed'], details: [messageOf(error)] }
    this.showTitle()
    const again: Item = {
      label: `$(error) ${messageOf(error)}`,
      detail: 'Press Enter to try again',
      alwaysShow: true,
      run: () => void this.run(this.query, this.terms),
    }
    this.pick.items = rows ? [again, ...this.items()] : [again]
  }

  /** Ends what runs. The server kills what it has started for it. */
  private cancel(): void {
    this.clearTimer('search')
    this.clearTimer('render')
    this.running?.cancel()
    this.running?.dispose()
    this.running = undefined
    this.pick.busy = false
  }

  // --- showing -----------------------------------------------------------------------------

  private enterResults(value: string): void {
    this.phase = 'results'
    if (this.pick.value !== value) this.pick.value = value
    this.pick.placeholder = this.mode.live ? this.mode.placeholder : 'Filter the results'
    this.pick.buttons = [
      ...(this.mode.live ? [] : [vscode.QuickInputButtons.Back]),
      ...(this.mode === KEYWORD ? [TERMS] : []),
      ...(this.mode.scoped ? [this.ignored ? NOT_IGNORED : IGNORED] : []),
      IN_VIEW,
      DETAILS,
    ]
    this.showTitle()
  }

  /** The first rows at once, later ones a few times a second, and none while somebody moves. */
  private update(): void {
    if (this.timers.has('render')) return
    const still = this.movedAt + STILL_MS - Date.now()
    if (still > 0) {
      this.later('render', still, () => this.update())
      return
    }
    const before = this.shown
    // What somebody has moved to stays, though the answer may lack it.
    const row = this.movedAt ? before.rows.find((one) => one.key === this.activeKey) : undefined
    this.shown = withRow(this.collector?.shown() ?? before, row, before)
    if (!isSame(before, this.shown) || this.needsConsent !== this.asks) this.render()
    this.showTitle()
    if (this.running) this.later('render', RENDER_MS, () => this.running && this.update())
  }

  private render(): void {
    this.showTitle()
    const items = this.items()
    const first = items.find((item) => item.row)
    const stays = items.find((item) => item.row && item.row.key === this.activeKey)
    const active = this.followsBest ? first : (stays ?? first)
    // A list that is shown for the first time goes to its active row, one that changes stays.
    this.pick.keepScrollPosition = this.renderedAt > 0
    this.renderedAt = Date.now()
    this.asks = this.needsConsent
    this.firstKey = first?.row?.key
    this.pick.items = items
    if (active) {
      this.activeKey = active.row?.key
      this.pick.activeItems = [active]
    }
  }

  /**
   * Whether the best row is active, whatever it is: until somebody moves, while the local ranker
   * still orders what is being found, which takes a moment only.
   */
  private get followsBest(): boolean {
    const isLocal = this.collector instanceof Ranking && this.collector.rankedBy.kind === 'local'
    return isLocal && !this.movedAt
  }

  private items(): Item[] {
    const { rows, others } = this.shown
    const items: Item[] = rows.map((row) => ({
      row,
      label: row.label,
      description: row.description,
      ...(row.detail ? { detail: row.detail } : {}),
      alwaysShow: this.mode.live,
      buttons: row.document ? [DOCUMENT, TO_SIDE] : [TO_SIDE],
    }))
    if (others < rows.length) {
      const label = others ? 'also found, not chosen by the model' : 'not chosen by the model'
      items.splice(others, 0, { label, kind: vscode.QuickPickItemKind.Separator })
    }
    if (!items.length && this.headline) {
      items.push({ label: '$(info) No results', alwaysShow: true, run: () => this.showDetails() })
      for (const note of this.headline.details.slice(0, 6)) {
        items.push({ label: note, alwaysShow: true, run: () => this.showDetails() })
      }
    }
    const where = this.headline?.needsConsent
    if (where) {
      items.push(
        { label: 'ranked without a model', kind: vscode.QuickPickItemKind.Separator },
        {
          label: '$(shield) Let a language model rank…',
          detail: `Matching lines would be sent to ${where.join(', ')}, with secrets masked`,
          alwaysShow: true,
          run: () => void this.letModelRank(),
        },
      )
    }
    return items
  }

  /** Asks whether a model may, and goes on with its ranking, or with the list as it was. */
  private async letModelRank(): Promise<void> {
    const { mode, parts, query, terms, search, activeKey: active } = this
    const isAllowed = await parts.consent.decide()
    const next = new Picker(parts, mode, this.ended)
    if (isAllowed) next.again(query, terms)
    else next.resume({ mode, query, search, active, filter: '' })
  }

  private get needsConsent(): boolean {
    return this.headline?.needsConsent !== undefined
  }

  private showTitle(): void {
    const { title } = this.mode
    const about = this.mode.live || this.phase === 'query' ? title : `${title}: ${this.query}`
    const parts = this.headline?.parts ?? (this.running ? ['searching…'] : [])
    this.pick.title = [`Winnow ${about}`, ...parts].join('  ·  ')
  }

  private activeChanged(item: Item | undefined): void {
    if (this.phase !== 'results' || !item?.row || item.row.key === this.activeKey) return
    const { row } = item
    // A new list has its first row active for a moment, before the one that is to be.
    if (row.key === this.firstKey && Date.now() - this.renderedAt < ECHO_MS) {
      // Or somebody has moved there: then it still is active when that moment is over.
      this.later('echo', ECHO_MS, () => this.activeChanged(this.pick.activeItems[0]))
      return
    }
    this.activeKey = row.key
    this.movedAt = Date.now()
    this.later('preview', PREVIEW_MS, () => void this.parts.previews.show(row.place))
  }

  // --- accepting ---------------------------------------------------------------------------

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
      this.remember()
      this.keep()
    }
    this.clearTimer('preview')
    this.pick.hide()
    try {
      await this.parts.previews.open(row.place, column)
    } catch (error) {
      void vscode.window.showErrorMessage(`Winnow: ${row.shown} could not be opened: ${messageOf(error)}`)
    }
    if (this.search) this.parts.searches.opened(this.search.id, row.key)
    this.parts.kept()
    this.tellOpened(row)
  }

  private tellOpened(row: Row): void {
    if (!this.searchId) return
    const rank = this.shown.rows.findIndex((one) => one.key === row.key) + 1
    const params = { search_id: this.searchId, path: row.path, action: 'opened' as const, rank }
    this.parts.server.ask(feedback, params, NONE).catch((error: unknown) => {
      log.info(`Could not record the opened result: ${messageOf(error)}`)
    })
  }

  private buttonPressed(button: vscode.QuickInputButton): void {
    if (button === vscode.QuickInputButtons.Back) {
      this.cancel()
      this.headline = undefined
      this.pick.buttons = []
      this.ask(this.query)
    } else if (button === TERMS) {
      this.cancel()
      void this.askTerms()
    } else if (button === IGNORED || button === NOT_IGNORED) {
      this.ignored = button === IGNORED
      void this.run(this.query, this.terms)
    } else if (button === DETAILS) {
      this.showDetails()
    } else if (button === IN_VIEW) {
      this.keep()
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

  private async hidden(): Promise<void> {
    this.cancel()
    for (const timer of this.timers.values()) clearTimeout(timer)
    const { mode, query, search, activeKey: active } = this
    const filter = this.phase === 'results' ? this.pick.value : ''
    this.pick.dispose()
    if (query) this.ended({ mode, query, search, active, filter })
    if (!this.accepted) await this.parts.previews.restore()
  }

  // --- what outlives a picker --------------------------------------------------------------

  private keep(): void {
    const { rows, others } = this.collector?.shown() ?? this.shown
    if (!this.headline || !rows.length || this.search) return
    this.search = this.parts.searches.add({
      mode: this.mode,
      query: this.query,
      terms: this.terms,
      rows,
      others,
      headline: this.headline,
      searchId: this.searchId,
    })
    this.parts.kept()
  }

  private history(): string[] {
    return this.parts.context.workspaceState.get<string[]>(HISTORY + this.mode.id, [])
  }

  private remember(): void {
    const name = HISTORY + this.mode.id
    void this.parts.context.workspaceState.update(name, remembered(this.history(), this.query))
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

/** The rows with one that may have dropped out of the answer: it does not vanish under the cursor. */
function withRow(shown: Shown, row: Row | undefined, before: Shown): Shown {
  if (!row || shown.rows.some((one) => one.key === row.key)) return shown
  const { rows, others } = shown
  const isChosen = others === rows.length
  // Never before what a model has chosen.
  const place = Math.min(Math.max(before.rows.indexOf(row), isChosen ? 0 : others), rows.length)
  const kept = [...rows.slice(0, place), row, ...rows.slice(place)]
  return { rows: kept, others: isChosen ? kept.length : others }
}

/** Whether a list of these rows looks the same. */
function isSame(one: Shown, other: Shown): boolean {
  return (
    one.others === other.others &&
    one.rows.length === other.rows.length &&
    one.rows.every((row, place) => {
      const there = other.rows[place]
      return row.key === there?.key && row.label === there.label && row.detail === there.detail
    })
  )
}

/** Opens a document with the program that the system has for it; far from that, in the editor. */
export async function openDocument(uri: string): Promise<void> {
  const document = vscode.Uri.parse(uri, true)
  const isHere = vscode.env.uiKind === vscode.UIKind.Desktop && !vscode.env.remoteName
  if (isHere) await vscode.env.openExternal(document)
  else await vscode.commands.executeCommand('vscode.open', document.with({ fragment: '' }))
}

/** Asks for a mode. */
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

/** The history of all modes, the latest of each first. */
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
