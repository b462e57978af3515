import * as vscode from 'vscode'

import * as box from './core/box'
import type { BoxState } from './core/box'
import { linesOf, titleOf, whyNone } from './core/headline'
import { withQuery } from './core/history'
import { iconOf, type Search } from './core/kinds'
import { feedback } from './core/protocol'
import { formatQuery, hintsFor, isSearchable, MIN_LETTERS, parseQuery, prefixProblem } from './core/query'
import { type Row, secondLine } from './core/rows'
import type { Searches } from './core/searches'
import { Timers } from './core/timers'
import { forPeople } from './core/wording'
import type { Consent } from './consent'
import { openServerSettings } from './install'
import { ServerMissing } from './locator'
import { log, messageOf } from './log'
import { narrow } from './narrow'
import type { Previews } from './previews'
import { type Found, Searcher } from './searcher'
import type { Server } from './server'

/** Delay after a key that follows another one: only the last of fast keys starts a search. */
const TYPING_MS = 25
/** A longer pause between two keys means that the user reads or thinks. */
const PAUSE_MS = 250
/** Delay before a preview of the row the user moved to, so that fast moves skip rows. */
const PREVIEW_MS = 50
/** Delay before a preview of the first row, so that nothing opens while the user types. */
const FIRST_PREVIEW_MS = 400
/** Minimum interval between updates of the list by partial results. With a shorter one it flickers. */
const RENDER_MS = 100
/** An update of the list undoes the moves that follow it closely, so it waits this long after the last one. */
const MOVE_PAUSE_MS = 350
/** After an update, the quick pick may report for this long that its first row is active. */
const ECHO_MS = 150
/** Minimum interval between repetitions of a search while the index is being built. */
const REPEAT_MS = 2_000
/** They take at most a tenth of the time. */
const REPEAT_SHARE = 0.1
/** Pause after which a model is asked, if the user wants that. */
const ASK_MS = 1_500
/** Time without rows after which the box says what it waits for, and interval of updates of that. */
const WAIT_MS = 500
const HISTORY = 'winnow.queries'
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
const NARROW = button('filter', 'Narrow the Search…')
const TERMS = button('list-ordered', 'Search by Terms…')
const CONSENT = button('sparkle', 'Let a Language Model Rank…')
const IN_VIEW = button('list-tree', 'Show in Results View')
const DETAILS = button('info', 'How These Results Were Found')

const TOO_SHORT: Item = { label: `$(info) Type at least ${MIN_LETTERS} letters`, alwaysShow: true, run: () => undefined }
const INSTALLING: Item = { label: '$(sync~spin) Installing the server…', alwaysShow: true, run: () => undefined }

/** The parts of the extension that the box uses. */
export interface PickerServices {
  readonly context: vscode.ExtensionContext
  readonly server: Server
  readonly previews: Previews
  readonly searches: Searches
  readonly consent: Consent
  /** Called after a search was stored or a result opened. */
  readonly searchesChanged: () => void
  /** Show the results view, with the focus on a result. */
  readonly showResults: (search: Search | undefined, key: string | undefined) => Promise<void>
  /** Called after a box was opened or closed. */
  readonly boxChanged: () => void
  /** Create a new box, because one that was closed can't be opened again. */
  readonly newPicker: () => Picker
  /** Install and start the server. Return true if it runs. */
  readonly installServer: () => Promise<boolean>
  readonly isInstalling: () => boolean
}

/** The state of a closed box, to resume it. */
export interface PickerState {
  readonly box: BoxState
  readonly searchId: string
}

/** The search box: a quick pick that searches as the user types. */
export class Picker {
  private readonly pick = vscode.window.createQuickPick<Item>()
  private readonly searcher: Searcher
  private readonly timers = new Timers()
  private state = box.CLOSED
  private searchId = ''
  /** The model that would rank; empty if none is available. */
  private model = ''
  private isConsentNeeded = false
  private modelFound: Promise<void> = Promise.resolve()
  private stored: Search | undefined
  private typedAt = 0
  private movedAt = 0
  private renderedAt = 0
  /** The number of updates of the list. A new one replaces one that waits. */
  private updates = 0
  private isAccepted = false
  private isShown = false

  constructor(
    private readonly services: PickerServices,
    private readonly onClose: (state: PickerState) => void,
  ) {
    this.searcher = new Searcher(services.server)
    const { pick } = this
    pick.matchOnDescription = true
    pick.matchOnDetail = true
    pick.placeholder = 'Search for a name, a path, code, an error message, or ask a question'
    // An undocumented property that disables sorting by label matches, to keep the answer's order.
    ;(pick as { sortByLabel?: boolean }).sortByLabel = false
    pick.onDidChangeValue(() => this.textChanged())
    pick.onDidAccept(() => void this.accepted())
    pick.onDidChangeActive(([item]) => this.activeChanged(item))
    pick.onDidTriggerButton((button) => void this.buttonPressed(button))
    pick.onDidTriggerItemButton(({ item, button }) => void this.itemButtonPressed(item, button))
    pick.onDidHide(() => void this.closed())
  }

  get isOpen(): boolean {
    return this.isShown
  }

  /** Open the box with a text. */
  open(text = ''): void {
    this.modelFound = this.findModel()
    this.start()
    this.show()
    if (text) this.retype(text)
  }

  /** Open the box as it was closed, at the same row. A search that closing it canceled begins again. */
  resume({ box: state, searchId }: PickerState): void {
    if (!box.isComplete(state)) {
      this.open(state.text)
      return
    }
    this.state = { ...state, hasMoved: state.active !== undefined }
    this.searchId = searchId
    this.pick.value = state.text
    this.render()
    this.show()
    this.repeatLater()
    this.modelFound = this.findModel()
  }

  private show(): void {
    this.isShown = true
    this.pick.show()
    this.services.boxChanged()
  }

  // --- searching ---------------------------------------------------------------------------

  private textChanged(): void {
    const text = this.pick.value.trim()
    if (text === this.state.text) return
    const delay = Date.now() - this.typedAt < PAUSE_MS ? TYPING_MS : 0
    this.typedAt = Date.now()
    this.searcher.cancel()
    this.timers.clearAll()
    this.updates++
    this.state = box.typed(this.state, text)
    this.pick.busy = false
    if (!isSearchable(parseQuery(text)) || hintsFor(text).length) {
      this.start()
      return
    }
    this.showTitle()
    this.timers.start('search', delay, () => void this.search())
  }

  /** Show earlier queries and the prefixes, while there is nothing to search for. */
  private start(): void {
    this.state = { ...box.CLOSED, text: this.pick.value.trim() }
    const history = earlierQueries(this.services.context).map((text) => ({
      label: `$(history) ${text}`,
      run: () => this.retype(text),
    }))
    const hints = hintsFor(this.state.text).map(([prefix, description]) => ({
      label: prefix.trim(),
      description,
      run: () => this.retype(prefix),
    }))
    this.showTitle()
    // It is that of an earlier query, but the user may be about to type another one.
    this.timers.start('preview', FIRST_PREVIEW_MS, () => void this.services.previews.restore())
    // The box has filtered its rows by then. New ones would move the active row back to the first.
    const shown = new Set(this.pick.items.map(({ label }) => label))
    if (hints.length && hints.every(({ label }) => shown.has(label))) return
    const recent = { label: 'recent', kind: vscode.QuickPickItemKind.Separator }
    // Events name rows by their index. With a separator first, a late one would be a move to the second result.
    if (!this.state.text) this.pick.items = [...hints, ...(history.length ? [recent, ...history] : [])]
    else this.pick.items = hints.length ? hints : [TOO_SHORT]
  }

  private retype(text: string): void {
    this.pick.value = text
    this.textChanged()
  }

  private search(): Promise<void> {
    const { text } = this.state
    return this.run(() => this.searcher.search(text, (list) => this.listed(list)))
  }

  private ask(): Promise<void> {
    this.timers.clear('repeat')
    this.state = box.asked(this.state)
    const { text, rows } = this.state
    return this.run(() => this.searcher.ask(text, rows, (list) => this.listed(list)))
  }

  private async run(search: () => Promise<Found | undefined>): Promise<void> {
    this.pick.busy = true
    const searching = search()
    this.showTitle()
    this.timers.start('wait', WAIT_MS, () => this.showWaiting())
    try {
      const [found] = await Promise.all([searching, this.modelFound])
      if (found) this.found(found)
    } catch (error) {
      this.failed(error)
    }
  }

  /** Say what a search without rows waits for. Enter still opens its first row. */
  private showWaiting(): void {
    if (this.state.rows.length) return
    void this.services.previews.restore()
    const label = `$(sync~spin) ${this.services.server.activity}…`
    if (this.pick.items[0]?.label !== label) this.pick.items = [{ label, alwaysShow: true }]
    this.timers.start('wait', WAIT_MS, () => this.showWaiting())
  }

  /** Show partial results at intervals, the first at once. */
  private listed(list: box.ResultList): void {
    if (list.rows.length && !box.shows(this.state, list)) this.update(() => box.listed(this.state, list))
  }

  private found(found: Found): void {
    this.pick.busy = false
    this.searchId = found.searchId
    this.stored = undefined
    const next = () => box.answered(this.state, found.list, found.headline, this.canAsk(found))
    this.update(next, () => {
      if (this.state.isForView) void this.showInView()
      else if (this.state.isEntered) void this.enter()
      else if (this.state.model === 'available' && asksAfterPause()) {
        this.timers.start('ask', ASK_MS, () => void this.ask())
      }
      this.repeatLater()
    })
  }

  private canAsk(found: Found): boolean {
    return found.canAsk && this.model !== ''
  }

  /** Repeat the search while the index is being built: the first question often comes that early. */
  private repeatLater(delay = REPEAT_MS): void {
    const { headline, model } = this.state
    if (headline?.isEarly && model !== 'asked') this.timers.start('repeat', delay, () => void this.repeat())
  }

  private async repeat(): Promise<void> {
    const started = Date.now()
    try {
      const found = await this.searcher.search(this.state.text, () => undefined)
      if (!found) return
      const took = Date.now() - started
      const next = () => box.repeated(this.state, found.list, found.headline, this.canAsk(found))
      const repeatLater = () => this.repeatLater(Math.max(REPEAT_MS, took / REPEAT_SHARE))
      this.searchId = found.searchId
      this.stored = undefined
      this.update(next, repeatLater)
    } catch (error) {
      log.info(`Could not repeat the search: ${messageOf(error)}`)
    }
  }

  /** Change the list, but neither while the user moves nor too often. */
  private update(next: () => BoxState, then?: () => void): void {
    const update = ++this.updates
    const isNew = this.state.answered !== this.state.text
    const moveEnd = this.state.hasMoved ? this.movedAt + MOVE_PAUSE_MS : 0
    // Until then it is unknown whether the user moved to the first row.
    const pause = Math.max(moveEnd - Date.now(), this.timers.has('echo') ? ECHO_MS : 0)
    const interval = then ? 0 : this.renderedAt + RENDER_MS - Date.now()
    const wait = Math.max(pause, isNew ? 0 : interval)
    const run = () => {
      this.state = next()
      this.render()
      then?.()
    }
    const runSettled = async () => {
      const { movedAt } = this
      await eventsArrived()
      if (update !== this.updates) return
      // In the meantime, the user has moved.
      if (movedAt !== this.movedAt || this.timers.has('echo')) this.update(next, then)
      else run()
    }
    if (isNew && wait <= 0) run()
    else this.timers.start('update', Math.max(0, wait), () => void runSettled())
  }

  private failed(error: unknown): void {
    this.pick.busy = false
    this.timers.clear('update')
    log.warn(`Search: ${messageOf(error)}`)
    this.state = box.failed(this.state, error instanceof Error ? error : new Error(String(error)))
    this.render()
  }

  private errorItems(error: Error): Item[] {
    if (error instanceof ServerMissing) return this.services.isInstalling() ? [INSTALLING] : this.serverItems(error)
    // The name of a parameter says nothing to a user, and a row's line is too short for the message.
    const message = forPeople(error.message).replace(/^`[\w.[\]]+`: /, '')
    const [problem = '', reason = ''] = message.split(/(?:: |\. )(.*)/s)
    const again = { alwaysShow: true, run: () => void this.search() }
    const open = { alwaysShow: true, run: () => void vscode.commands.executeCommand('vscode.openFolder') }
    if (!vscode.workspace.workspaceFolders?.length) {
      return [{ label: '$(folder-opened) Open a folder…', detail: `${problem}.`, ...open }]
    }
    const setting = /setting `winnow\.([\w.]+)`/.exec(reason)?.[1]
    return [
      { label: `$(error) ${problem}`, detail: reason, ...again },
      ...(setting ? [{ label: `$(gear) Open the setting winnow.${setting}`, alwaysShow: true, run: () => openSetting(setting) }] : []),
      { label: '$(refresh) Try again', ...again },
    ]
  }

  /** Return what the user can do without a server. The box stays open: the rest of the query would be typed into a file. */
  private serverItems(problem: ServerMissing): Item[] {
    const install = { label: '$(cloud-download) Install the server', run: () => void this.installServer(problem) }
    const choose = { label: '$(gear) Choose another server…', run: () => void openServerSettings() }
    // With a configured command, an installed server would not be used.
    const actions = hasServerCommand() ? [choose] : [install, choose]
    return actions.map((action, index) => ({ ...action, detail: index ? '' : problem.message, alwaysShow: true }))
  }

  private async installServer(problem: ServerMissing): Promise<void> {
    const { pick } = this
    pick.items = [INSTALLING]
    // An installation takes minutes, and the query waits for it.
    pick.ignoreFocusOut = true
    const isInstalled = await this.services.installServer()
    if (!this.isShown) return
    pick.ignoreFocusOut = false
    if (!isInstalled) this.failed(problem)
    else if (isSearchable(parseQuery(this.state.text))) await this.search()
  }

  private async findModel(): Promise<void> {
    try {
      const { name, isConsentNeeded } = await this.services.consent.model()
      this.model = name ?? ''
      this.isConsentNeeded = isConsentNeeded
      this.showTitle()
    } catch (error) {
      log.info(`Could not list language models: ${messageOf(error)}`)
    }
  }

  // --- the list ----------------------------------------------------------------------------

  private render(): void {
    const { rows, chosenCount, hasMoved } = this.state
    const items: Item[] = rows.map((row) => ({
      row,
      label: `$(${row.icon}) ${row.name}`,
      description: row.where,
      detail: secondLine(row),
      alwaysShow: true,
      buttons: row.document ? [DOCUMENT, TO_SIDE] : [TO_SIDE],
    }))
    if (chosenCount < rows.length) {
      const label = chosenCount ? 'also found' : 'not chosen by the model'
      items.splice(chosenCount, 0, { label, kind: vscode.QuickPickItemKind.Separator })
    }
    this.timers.clear('wait')
    this.setItems(items.length ? items : this.emptyItems())
    this.showTitle()
    this.preview(hasMoved ? PREVIEW_MS : FIRST_PREVIEW_MS)
  }

  /** Change the list if it differs. A change undoes moves that the editor has not reported yet. */
  private setItems(items: readonly Item[]): void {
    const { pick } = this
    const { rows, active, hasMoved } = this.state
    const isSame = pick.items.length === items.length && pick.items.every((item, index) => isSameItem(item, items[index]))
    if (isSame && pick.activeItems[0]?.row?.key === active) return
    // A row that the user moved to stays where it is on the screen.
    pick.keepScrollPosition = hasMoved && this.renderedAt > 0
    this.renderedAt = Date.now()
    if (!isSame) pick.items = items
    // Without rows, the first action or note stays active.
    if (rows.length) pick.activeItems = pick.items.filter(({ row }) => row && row.key === active)
  }

  private emptyItems(): Item[] {
    const { text, headline, error } = this.state
    if (error) return this.errorItems(error)
    const notes = [prefixProblem(text), ...(headline ? whyNone(headline) : [])].filter(Boolean).slice(0, 6)
    const query = parseQuery(text)
    const others = (headline?.suggestions ?? []).map((words) => formatQuery({ ...query, words }))
    return [
      ...['$(info) No results', ...notes].map((note) => ({ ...linesOf(note), alwaysShow: true, run: () => undefined })),
      ...others.map((other) => ({ label: `$(search) ${other}`, description: 'search for this', alwaysShow: true, run: () => this.retype(other) })),
    ]
  }

  private showTitle(): void {
    const { text, headline, model } = this.state
    const hint = model === 'available' ? `Enter asks ${this.model}` : ''
    const asking = model === 'asked' && this.searcher.isRunning ? `asking ${this.model}…` : ''
    const title = titleOf(parseQuery(text).words, headline)
    this.pick.title = [title, hint || asking].filter(Boolean).join(' · ')
    this.pick.buttons = [NARROW, TERMS, ...(this.isConsentNeeded ? [CONSENT] : []), IN_VIEW, DETAILS]
  }

  private activeChanged(item: Item | undefined): void {
    if (!item) {
      // The editor selects the first row of a new list before that, which looks like a move if it is late.
      this.timers.clear('echo')
      this.state = box.deselected(this.state)
      return
    }
    if (!item.row || item.row.key === this.state.active || this.state.answered !== this.state.text) return
    if (Date.now() - this.renderedAt < ECHO_MS && item.row.key === this.state.rows[0]?.key) {
      // If the user moved to the first row, it is still active after that moment.
      this.timers.start('echo', ECHO_MS, () => this.activeChanged(this.pick.activeItems[0]))
      return
    }
    this.state = box.moved(this.state, item.row.key)
    this.movedAt = Date.now()
    this.timers.clear('ask')
    this.preview(PREVIEW_MS)
  }

  private preview(delay: number): void {
    const { rows, active } = this.state
    const row = rows.find(({ key }) => key === active) ?? rows[0]
    const { previews } = this.services
    this.timers.start('preview', delay, () => {
      // The box has closed the previews and hides, but the editor has not reported that yet.
      if (this.isAccepted) return
      // Without rows, the preview is that of an earlier search.
      void (row ? previews.show(row.place, this.pick.value) : previews.restore())
    })
  }

  // --- actions -----------------------------------------------------------------------------

  private async accepted(): Promise<void> {
    const item = this.pick.selectedItems[0] ?? this.pick.activeItems[0]
    // Until the list is that of the typed text, its actions are those of an earlier one.
    if (item?.run && !this.timers.has('search') && !this.timers.has('wait')) item.run()
    else if (item?.row && item.row.key !== this.state.active) await this.openRow(item.row)
    else await this.enter()
  }

  /** Open the selected row in another editor group. */
  async openToSide(): Promise<void> {
    const row = this.pick.activeItems[0]?.row
    if (row) await this.openRow(row, vscode.ViewColumn.Beside)
  }

  private async enter(): Promise<void> {
    const action = box.entered(this.state)
    if (action === 'ask') await this.ask()
    else if (action === 'wait') this.state = { ...this.state, isEntered: true }
    else if (action === 'open') {
      const row = this.state.rows.find(({ key }) => key === this.state.active)
      if (row) await this.openRow(row)
    }
  }

  private async openRow(row: Row, column?: vscode.ViewColumn): Promise<void> {
    const { previews, searches } = this.services
    this.isAccepted = true
    this.state = box.moved(this.state, row.key)
    this.store()
    this.pick.hide()
    try {
      await previews.open(row.place, column === undefined ? {} : { column })
    } catch (error) {
      await previews.restore()
      void vscode.window.showErrorMessage(`Winnow: could not open ${row.displayPath}: ${messageOf(error)}`)
    }
    if (this.stored) searches.opened(this.stored.id, row.key)
    this.services.searchesChanged()
    this.reportOpened(row)
  }

  private reportOpened(row: Row): void {
    // The history is about files of the workspace.
    if (!this.searchId || row.repository) return
    const rank = this.state.rows.findIndex(({ key }) => key === row.key) + 1
    const params = { search_id: this.searchId, path: row.path, action: 'opened' as const, rank }
    this.services.server.request(feedback, params, NONE).catch((error: unknown) => {
      log.info(`Could not record the opened result: ${messageOf(error)}`)
    })
  }

  private async buttonPressed(button: vscode.QuickInputButton): Promise<void> {
    if (button === IN_VIEW) {
      await this.showInView()
    } else if (button === TERMS) {
      await this.editTerms()
    } else if (button === NARROW) {
      const { text, rows } = this.state
      this.pick.hide()
      this.services.newPicker().open((await narrow(text, rows)) ?? text)
    } else if (button === CONSENT) {
      const { text } = this.state
      this.pick.hide()
      await this.services.consent.decide()
      this.services.newPicker().open(text)
    } else if (button === DETAILS) {
      await this.showDetails()
    }
  }

  private async showInView(): Promise<void> {
    const action = isSearchable(parseQuery(this.state.text)) ? box.viewed(this.state) : 'show'
    this.state = { ...this.state, isForView: action === 'wait' }
    if (action !== 'show') return
    this.store()
    this.isAccepted = true
    this.pick.hide()
    // It moves the focus to an editor.
    await this.services.previews.restore()
    await this.services.showResults(this.stored, this.state.active)
  }

  /** Put the terms that the server suggests into the box. */
  async editTerms(): Promise<void> {
    try {
      const text = await this.searcher.withTerms(this.state.text)
      this.retype(text)
    } catch (error) {
      this.failed(error)
    }
  }

  private async itemButtonPressed(item: Item, button: vscode.QuickInputButton): Promise<void> {
    if (!item.row) return
    if (button === TO_SIDE) await this.openRow(item.row, vscode.ViewColumn.Beside)
    else if (item.row.document) await openDocument(item.row.document)
  }

  private async showDetails(): Promise<void> {
    const { headline, text, error } = this.state
    const noAnswer = text ? 'The search is still running.' : 'Nothing was searched yet.'
    const details = headline?.details ?? [error ? forPeople(error.message) : noAnswer]
    const state = { box: this.state, searchId: this.searchId }
    this.pick.hide()
    await vscode.window.showQuickPick(details.map(linesOf), {
      title: titleOf(parseQuery(text).words, headline),
      placeHolder: 'Escape returns to the results',
    })
    this.services.newPicker().resume(state)
  }

  private async closed(): Promise<void> {
    this.isShown = false
    this.services.boxChanged()
    this.searcher.cancel()
    this.timers.clearAll()
    this.updates++
    this.pick.dispose()
    if (this.state.text) this.onClose({ box: this.state, searchId: this.searchId })
    if (!this.isAccepted) await this.services.previews.restore()
  }

  /** Store the search for the history and the results view. */
  private store(): void {
    const { text, rows, chosenCount, headline } = this.state
    addToHistory(this.services.context, text)
    if (!headline || !rows.length || this.stored) return
    const search = { text, rows, chosenCount, headline, searchId: this.searchId }
    this.stored = this.services.searches.add(search)
    this.services.searchesChanged()
  }
}

function isSameItem(item: Item, other: Item | undefined): boolean {
  const parts = ({ row, kind, label, description, detail, buttons }: Item) =>
    [row?.key, kind, label, description, detail, buttons?.length].join('\n')
  return !!other && parts(item) === parts(other)
}

/** Wait until the events that the editor has sent have arrived: it answers in their order. */
async function eventsArrived(): Promise<void> {
  await vscode.commands.executeCommand('setContext', 'winnow.isUpdating', false)
}

function asksAfterPause(): boolean {
  return vscode.workspace.getConfiguration('winnow').get('askModelAfterPause', false)
}

function hasServerCommand(): boolean {
  return vscode.workspace.getConfiguration('winnow').get<string[]>('server.command', []).length > 0
}

function openSetting(name: string): void {
  void vscode.commands.executeCommand('workbench.action.openSettings', `winnow.${name}`)
}

/** Open a document in the system's default program, or in the editor if that is remote. */
export async function openDocument(uri: string): Promise<void> {
  const document = vscode.Uri.parse(uri, true)
  const isLocal = vscode.env.uiKind === vscode.UIKind.Desktop && !vscode.env.remoteName
  if (isLocal) await vscode.env.openExternal(document)
  else await vscode.commands.executeCommand('vscode.open', document.with({ fragment: '' }))
}

function earlierQueries(context: vscode.ExtensionContext): string[] {
  return context.workspaceState.get<string[]>(HISTORY, [])
}

function addToHistory(context: vscode.ExtensionContext, text: string): void {
  void context.workspaceState.update(HISTORY, withQuery(earlierQueries(context), text))
}

/** Let the user choose an earlier query, the latest first. */
export async function chooseFromHistory(context: vscode.ExtensionContext): Promise<string | undefined> {
  const items = earlierQueries(context).map((text) => ({ label: `$(${iconOf(text)}) ${text}`, text }))
  const chosen = await vscode.window.showQuickPick(items, {
    title: 'Winnow: Search History',
    placeHolder: items.length ? 'Search again' : 'No searches yet',
  })
  return chosen?.text
}
