import * as vscode from 'vscode'

import { highlightsOf } from './core/highlights'
import { beforeMaximized, countGroups, type EditorLayout, withGroupBelow } from './core/layout'
import { currentLine, offsetOfColumn, type Place } from './core/places'
import { log, messageOf } from './log'

/** The editor groups before the first preview. */
interface Before {
  readonly layout: EditorLayout
  /** True if the active group was maximized. */
  readonly isMaximized: boolean
  /** The number of groups, also of those in other windows. */
  readonly count: number
  /** The group where a result opens. */
  readonly column: vscode.ViewColumn
  /** The group of the previews, below all others of the main window. */
  readonly previewColumn: vscode.ViewColumn
}

/**
 * Previews of hits while the user moves through a list.
 *
 * They open in an editor group of their own, in the lower half of the window: the list covers the
 * upper half, and what was open there stays as it is. Closing the group restores the window.
 *
 * The server isn't notified of previewed documents: it ranks open documents higher, and the text of
 * a preview is the same as on disk.
 */
export class Previews implements vscode.Disposable {
  private before: Before | undefined
  private latestCall = 0
  /** Runs tasks that open and close tabs in order: a tab must be open before it can be closed. */
  private queue: Promise<unknown> = Promise.resolve()
  /** Documents that a preview has opened, until the user opens them or VS Code closes them. */
  private readonly previewed = new Set<string>()
  /** Notifications of opened documents that were not sent to the server, by URI. */
  private readonly withheld = new Map<string, () => Promise<void>>()
  private readonly disposables: vscode.Disposable[] = []
  private readonly line = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('winnow.previewLineBackground'),
  })
  private readonly match = vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor('editor.findMatchHighlightBackground'),
    border: '1px solid',
    borderColor: new vscode.ThemeColor('winnow.matchBorder'),
  })

  /** `locate` returns the URI to open, such as that of a file that is the same as one in a repository. */
  constructor(private readonly locate: (uri: vscode.Uri) => Promise<Located>) {
    this.disposables.push(
      this.line,
      this.match,
      vscode.window.onDidChangeVisibleTextEditors((editors) => {
        if (!this.before) for (const editor of editors) void this.release(editor.document.uri)
      }),
    )
  }

  /** Preview a place, with the words of the query highlighted. A later call supersedes this one. */
  async show(place: Place, query: string): Promise<void> {
    const call = ++this.latestCall
    await this.queue
    if (call !== this.latestCall) return
    const target = uriOf(place)
    try {
      const { uri } = await this.locate(target)
      if (call !== this.latestCall) return
      this.previewed.add(uri.toString())
      const document = await vscode.workspace.openTextDocument(uri)
      await this.enqueue(async () => {
        if (call !== this.latestCall) return
        this.before ??= await splitBelow()
        if (!this.before) return
        const range = rangeIn(document, place)
        const editor = await vscode.window.showTextDocument(document, {
          viewColumn: this.before.previewColumn,
          preview: true,
          preserveFocus: true,
          selection: new vscode.Range(range.start, range.start),
        })
        if (call !== this.latestCall) return
        editor.revealRange(range, vscode.TextEditorRevealType.InCenter)
        this.highlight(editor, place, range, query)
      })
    } catch (error) {
      // Binary, deleted or too large. The row stays, and opening it reports the error.
      log.debug(`No preview for ${target.toString()}: ${messageOf(error)}`)
      if (call === this.latestCall) await this.restore()
    }
  }

  /** Close the previews and open a place: in a preview tab, which the next one replaces, or to stay. */
  async open(place: Place, options: OpenOptions = {}): Promise<void> {
    this.latestCall++
    const { uri, notes } = await this.locate(uriOf(place))
    // An entire file may be an image.
    const document = place.line === undefined ? undefined : await textAt(uri)
    const { column = await this.close(), isTab = opensPreviewTabs(), keepsFocus = false } = options
    await this.close()
    await this.enqueue(async () => {
      const shown: vscode.TextDocumentShowOptions = {
        ...(column === undefined ? {} : { viewColumn: column }),
        preview: isTab,
        preserveFocus: keepsFocus,
      }
      if (document) {
        const { start } = rangeIn(document, place)
        await vscode.window.showTextDocument(document, { ...shown, selection: new vscode.Range(start, start) })
      } else await vscode.commands.executeCommand('vscode.open', uri, shown)
    })
    await this.release(uri)
    if (notes.length) void vscode.window.showInformationMessage(`Winnow: ${notes.join('. ')}.`)
  }

  /** Close the previews. */
  async restore(): Promise<void> {
    await this.close()
  }

  /** Client middleware: withhold the notification if the document is only previewed. */
  async didOpen(document: vscode.TextDocument, notify: () => Promise<void>): Promise<void> {
    const name = document.uri.toString()
    if (this.previewed.has(name)) this.withheld.set(name, notify)
    else await notify()
  }

  /** Client middleware: send a withheld open notification, which has the full text, or the change. */
  async didChange(document: vscode.TextDocument, notify: () => Promise<void>): Promise<void> {
    if (this.withheld.has(document.uri.toString())) await this.release(document.uri)
    else await notify()
  }

  /** Client middleware: send the notification only if the open notification was sent. */
  async didClose(document: vscode.TextDocument, notify: () => Promise<void>): Promise<void> {
    const name = document.uri.toString()
    this.previewed.delete(name)
    if (!this.withheld.delete(name)) await notify()
  }

  /** Send the withheld open notification of a document that is no longer a preview. */
  async release(uri: vscode.Uri): Promise<void> {
    const name = uri.toString()
    const notify = this.withheld.get(name)
    this.previewed.delete(name)
    this.withheld.delete(name)
    await notify?.()
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose()
  }

  private enqueue(task: () => Promise<void>): Promise<void> {
    const done = this.queue.then(task)
    this.queue = done.catch(() => undefined)
    return done
  }

  /** Close the group of the previews. Return the group that was active before, if there were any. */
  private async close(): Promise<vscode.ViewColumn | undefined> {
    this.latestCall++
    let column: vscode.ViewColumn | undefined
    await this.enqueue(async () => {
      const { before } = this
      if (!before) return
      this.before = undefined
      column = before.column
      const group = groupAt(before.previewColumn)
      // Text that was typed into a preview, not that of an unsaved file, which is open above.
      if (group?.tabs.some((tab) => tab.isDirty && !isElsewhere(tab))) return
      if (group?.tabs.length) await vscode.window.tabGroups.close(group, true)
      // If groups were closed or added meanwhile, the layout is not that of these groups.
      const added = vscode.window.tabGroups.all.length - before.count
      if (added !== 0 && added !== 1) return
      await vscode.commands.executeCommand(SET_LAYOUT, before.layout)
      if (before.isMaximized) await vscode.commands.executeCommand(TOGGLE_MAXIMIZED)
    })
    return column
  }

  private highlight(editor: vscode.TextEditor, place: Place, range: vscode.Range, query: string): void {
    const { document } = editor
    const { line } = range.start
    const isPlace = place.line !== undefined
    const words = isPlace ? highlightsOf(query, document.lineAt(line).text) : []
    editor.setDecorations(this.line, isPlace ? [range] : [])
    editor.setDecorations(
      this.match,
      range.isEmpty ? words.map(([start, end]) => new vscode.Range(line, start, line, end)) : [range],
    )
  }
}

/** The URI to open, and what the user should know about its text. */
export interface Located {
  readonly uri: vscode.Uri
  readonly notes: readonly string[]
}

export interface OpenOptions {
  /** By default, the group that was active before the previews. */
  readonly column?: vscode.ViewColumn
  /** True for a preview tab; by default as the user set for Quick Open. */
  readonly isTab?: boolean
  readonly keepsFocus?: boolean
}

/** Return the URI of a place's file or document. */
export function uriOf(place: Place): vscode.Uri {
  return /^[a-z][a-z+.-]+:\/\//.test(place.target)
    ? vscode.Uri.parse(place.target, true)
    : vscode.Uri.file(place.target)
}

/** Open the document of a file. The editor's error for a missing file names it three times. */
async function textAt(uri: vscode.Uri): Promise<vscode.TextDocument> {
  try {
    return await vscode.workspace.openTextDocument(uri)
  } catch (error) {
    const isMissing = uri.scheme === 'file' && (await vscode.workspace.fs.stat(uri).then(() => false, () => true))
    throw isMissing ? new Error('The file no longer exists.') : error
  }
}

/** Return the current range of a place: the document may have changed since the search. */
export function rangeIn(document: vscode.TextDocument, place: Place): vscode.Range {
  if (place.line === undefined) return new vscode.Range(0, 0, 0, 0)
  const line = currentLine(place, document.lineCount, (number) => document.lineAt(number - 1).text)
  const { text, lineNumber, firstNonWhitespaceCharacterIndex: indent } = document.lineAt(line - 1)
  const [start, end] = place.columns
    ? [offsetOfColumn(text, place.columns[0]), offsetOfColumn(text, place.columns[1])]
    : [indent, indent]
  return new vscode.Range(lineNumber, start, lineNumber, end)
}

const GET_LAYOUT = 'vscode.getEditorLayout'
const SET_LAYOUT = 'vscode.setEditorLayout'
const TOGGLE_MAXIMIZED = 'workbench.action.toggleMaximizeEditorGroup'

/**
 * Add an editor group below all others of the main window.
 *
 * Return undefined if another window is active, or an editor above the others, such as the settings. The groups of
 * those are counted after the main window's, and the layout is that of the active window.
 */
async function splitBelow(): Promise<Before | undefined> {
  const { tabGroups } = vscode.window
  const layout = await vscode.commands.executeCommand<EditorLayout>(GET_LAYOUT)
  const column = tabGroups.activeTabGroup.viewColumn
  const count = tabGroups.all.length
  const previewColumn = countGroups(layout) + 1
  if (column >= previewColumn) return undefined
  await vscode.commands.executeCommand(SET_LAYOUT, withGroupBelow(layout))
  if (groupAt(previewColumn)?.tabs.length === 0) {
    const unmaximized = beforeMaximized(layout, await vscode.commands.executeCommand<EditorLayout>(GET_LAYOUT))
    return { layout: unmaximized ?? layout, isMaximized: unmaximized !== undefined, count, column, previewColumn }
  }
  // The new group is in another window.
  await vscode.commands.executeCommand(SET_LAYOUT, layout)
  return undefined
}

/** Return true if a tab of another group has the same document. */
function isElsewhere(tab: vscode.Tab): boolean {
  const uri = uriOfTab(tab)
  const others = vscode.window.tabGroups.all.filter((group) => group !== tab.group)
  return !!uri && others.some((group) => group.tabs.some((other) => uriOfTab(other) === uri))
}

function uriOfTab(tab: vscode.Tab): string | undefined {
  return tab.input instanceof vscode.TabInputText ? tab.input.uri.toString() : undefined
}

function groupAt(column: vscode.ViewColumn): vscode.TabGroup | undefined {
  return vscode.window.tabGroups.all.find((group) => group.viewColumn === column)
}

function opensPreviewTabs(): boolean {
  return vscode.workspace.getConfiguration('workbench.editor').get('enablePreviewFromQuickOpen', false)
}
