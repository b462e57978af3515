import * as vscode from 'vscode'

import { offsetOfColumn, type Place } from './core/places'
import { log, messageOf } from './log'

/** The state of the active editor group before the first preview. */
interface SavedState {
  readonly column: vscode.ViewColumn
  readonly open: ReadonlySet<string>
  /** The document in the group's preview tab, which the next preview replaces. */
  readonly previewTab: vscode.Uri | undefined
  readonly editor: vscode.TextEditor | undefined
  readonly selections: readonly vscode.Selection[]
  readonly visible: vscode.Range | undefined
  readonly editorIsPreview: boolean
}

/**
 * Previews of hits while the user moves through a list, and the state to restore afterwards.
 *
 * The server isn't notified of previewed documents: it ranks open documents higher, and the text of
 * a preview is the same as on disk.
 */
export class Previews implements vscode.Disposable {
  private saved: SavedState | undefined
  private latestCall = 0
  /** Runs tasks that open and close tabs in order: a tab must be open before it can be closed. */
  private queue: Promise<unknown> = Promise.resolve()
  private readonly previewed = new Set<string>()
  /** Notifications of opened documents that were not sent to the server, by URI. */
  private readonly withheld = new Map<string, () => Promise<void>>()
  private readonly disposables: vscode.Disposable[] = []
  private readonly line = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('editor.rangeHighlightBackground'),
  })
  private readonly match = vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor('editor.findMatchHighlightBackground'),
    borderColor: new vscode.ThemeColor('editor.findMatchHighlightBorder'),
  })

  constructor() {
    this.disposables.push(
      this.line,
      this.match,
      vscode.window.onDidChangeVisibleTextEditors((editors) => {
        if (!this.saved) for (const editor of editors) void this.release(editor.document.uri)
      }),
    )
  }

  /** Preview a place. A later call supersedes this one. */
  async show(place: Place): Promise<void> {
    const call = ++this.latestCall
    await this.queue
    if (call !== this.latestCall) return
    this.saved ??= stateOfActiveGroup()
    const uri = uriOf(place)
    this.previewed.add(uri.toString())
    try {
      const document = await vscode.workspace.openTextDocument(uri)
      await this.enqueue(async () => {
        if (call !== this.latestCall || !this.saved) return
        const range = rangeIn(document, place)
        const editor = await vscode.window.showTextDocument(document, {
          viewColumn: this.saved.column,
          preview: true,
          preserveFocus: true,
          selection: new vscode.Range(range.start, range.start),
        })
        if (call === this.latestCall) this.highlight(editor, place, range)
      })
    } catch (error) {
      // Binary, deleted or too large. The row stays, and opening it reports the error.
      log.debug(`No preview for ${uri.toString()}: ${messageOf(error)}`)
    }
  }

  /** Open a place permanently, and forget the editors from before the previews. */
  async open(place: Place, column?: vscode.ViewColumn): Promise<void> {
    const saved = this.finish()
    const uri = uriOf(place)
    const document = await vscode.workspace.openTextDocument(uri)
    const { start } = rangeIn(document, place)
    const preview = vscode.workspace
      .getConfiguration('workbench.editor')
      .get('enablePreviewFromQuickOpen', false)
    await this.enqueue(async () => {
      if (column === vscode.ViewColumn.Beside && saved) await this.restoreState(saved)
      await vscode.window.showTextDocument(document, {
        ...(column === undefined ? {} : { viewColumn: column }),
        preview,
        selection: new vscode.Range(start, start),
      })
    })
    await this.release(uri)
  }

  /** Restore the editors from before the first preview, and close the previews. */
  async restore(): Promise<void> {
    const saved = this.finish()
    if (saved) await this.enqueue(() => this.restoreState(saved))
  }

  /** Client middleware: withhold the notification if the document is only previewed. */
  async didOpen(document: vscode.TextDocument, notify: () => Promise<void>): Promise<void> {
    const name = document.uri.toString()
    if (this.saved && this.previewed.has(name)) this.withheld.set(name, notify)
    else await notify()
  }

  /** Client middleware: send a withheld open notification, which has the full text, or the change. */
  async didChange(document: vscode.TextDocument, notify: () => Promise<void>): Promise<void> {
    if (this.withheld.has(document.uri.toString())) await this.release(document.uri)
    else await notify()
  }

  /** Client middleware: send the notification only if the open notification was sent. */
  async didClose(document: vscode.TextDocument, notify: () => Promise<void>): Promise<void> {
    if (!this.withheld.delete(document.uri.toString())) await notify()
  }

  /** Send the withheld open notification of a document that is no longer a preview. */
  async release(uri: vscode.Uri): Promise<void> {
    const name = uri.toString()
    const notify = this.withheld.get(name)
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

  private finish(): SavedState | undefined {
    this.latestCall++
    const { saved } = this
    this.saved = undefined
    for (const editor of vscode.window.visibleTextEditors) this.highlight(editor)
    return saved
  }

  private async restoreState(saved: SavedState): Promise<void> {
    const { editor } = saved
    await this.closePreviews(saved)
    if (saved.previewTab && !isOpen(saved.previewTab, saved.column)) {
      await reopen(saved.previewTab, saved.column, true)
    }
    if (!editor) return
    const reopened = await reopen(editor.document.uri, saved.column, saved.editorIsPreview)
    if (!reopened) return
    reopened.selections = saved.selections
    if (saved.visible) reopened.revealRange(saved.visible, vscode.TextEditorRevealType.AtTop)
  }

  private async closePreviews(saved: SavedState): Promise<void> {
    const group = groupAt(saved.column)
    const tabs = group?.tabs.filter((tab) => {
      const name = uriOfTab(tab)?.toString()
      return name !== undefined && this.previewed.has(name) && !saved.open.has(name) && !tab.isDirty
    })
    this.previewed.clear()
    if (tabs?.length) await vscode.window.tabGroups.close(tabs, true)
  }

  private highlight(editor: vscode.TextEditor, place?: Place, range?: vscode.Range): void {
    editor.setDecorations(this.line, place?.line === undefined || !range ? [] : [range])
    editor.setDecorations(this.match, range && !range.isEmpty ? [range] : [])
  }
}

/** Return the URI of a place's file or document. */
export function uriOf(place: Place): vscode.Uri {
  return /^[a-z][a-z+.-]+:\/\//.test(place.target)
    ? vscode.Uri.parse(place.target, true)
    : vscode.Uri.file(place.target)
}

/** Return the range of a place, clamped to the document, which may have changed since the search. */
export function rangeIn(document: vscode.TextDocument, place: Place): vscode.Range {
  if (place.line === undefined) return new vscode.Range(0, 0, 0, 0)
  const { text, lineNumber, firstNonWhitespaceCharacterIndex: indent } = document.lineAt(
    Math.max(0, Math.min(place.line, document.lineCount) - 1),
  )
  const [start, end] = place.columns
    ? [offsetOfColumn(text, place.columns[0]), offsetOfColumn(text, place.columns[1])]
    : [indent, indent]
  return new vscode.Range(lineNumber, start, lineNumber, end)
}

function stateOfActiveGroup(): SavedState {
  const group = vscode.window.tabGroups.activeTabGroup
  const editor = vscode.window.activeTextEditor
  const here = editor?.viewColumn === group.viewColumn ? editor : undefined
  const preview = group.tabs.find((tab) => tab.isPreview)
  const names = group.tabs.map((tab) => uriOfTab(tab)?.toString())
  return {
    column: group.viewColumn,
    open: new Set(names.filter((name) => name !== undefined)),
    previewTab: preview && uriOfTab(preview),
    editor: here,
    selections: here?.selections ?? [],
    visible: here?.visibleRanges[0],
    editorIsPreview: group.activeTab?.isPreview ?? false,
  }
}

async function reopen(
  uri: vscode.Uri,
  viewColumn: vscode.ViewColumn,
  preview: boolean,
): Promise<vscode.TextEditor | undefined> {
  try {
    const document = await vscode.workspace.openTextDocument(uri)
    return await vscode.window.showTextDocument(document, {
      viewColumn,
      preview,
      preserveFocus: true,
    })
  } catch (error) {
    log.debug(`Could not reopen ${uri.toString()}: ${messageOf(error)}`)
    return undefined
  }
}

function groupAt(column: vscode.ViewColumn): vscode.TabGroup | undefined {
  return vscode.window.tabGroups.all.find((group) => group.viewColumn === column)
}

function isOpen(uri: vscode.Uri, column: vscode.ViewColumn): boolean {
  return groupAt(column)?.tabs.some((tab) => uriOfTab(tab)?.toString() === uri.toString()) ?? false
}

function uriOfTab(tab: vscode.Tab): vscode.Uri | undefined {
  return tab.input instanceof vscode.TabInputText ? tab.input.uri : undefined
}
