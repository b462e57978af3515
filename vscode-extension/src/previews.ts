import * as vscode from 'vscode'

import { offsetOfColumn, type Place } from './core/places'
import { log, messageOf } from './log'

/** What was open in the active group before the first preview. */
interface Before {
  readonly column: vscode.ViewColumn
  readonly open: ReadonlySet<string>
  /** A text that was shown as a preview: another preview takes its tab. */
  readonly previewed: vscode.Uri | undefined
  readonly editor: vscode.TextEditor | undefined
  readonly selections: readonly vscode.Selection[]
  readonly visible: vscode.Range | undefined
  readonly editorIsPreview: boolean
}

/**
 * Shows hits while somebody moves through a list, and restores what was there before.
 *
 * A document that is only previewed is not told to the server: there an open document counts as one
 * that was of use, and its text is what is on disk anyway.
 */
export class Previews implements vscode.Disposable {
  private before: Before | undefined
  private latest = 0
  /** What opens and closes tabs, one after the other: what is not open yet cannot be closed. */
  private turn: Promise<unknown> = Promise.resolve()
  private readonly shown = new Set<string>()
  private readonly held = new Map<string, () => Promise<void>>()
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
        if (!this.before) for (const editor of editors) void this.release(editor.document.uri)
      }),
    )
  }

  /** Shows a place in a transient editor; the latest call counts. */
  async show(place: Place): Promise<void> {
    const call = ++this.latest
    await this.turn
    if (call !== this.latest) return
    this.before ??= stateOfActiveGroup()
    const uri = uriOf(place)
    this.shown.add(uri.toString())
    try {
      const document = await vscode.workspace.openTextDocument(uri)
      await this.inTurn(async () => {
        if (call !== this.latest || !this.before) return
        const range = rangeIn(document, place)
        const editor = await vscode.window.showTextDocument(document, {
          viewColumn: this.before.column,
          preview: true,
          preserveFocus: true,
          selection: new vscode.Range(range.start, range.start),
        })
        if (call === this.latest) this.highlight(editor, place, range)
      })
    } catch (error) {
      // Binary, gone, or too large: the row stays, and opening it says what is wrong.
      log.debug(`No preview for ${uri.toString()}: ${messageOf(error)}`)
    }
  }

  /** Opens a place for good; what was previewed before it is no matter any more. */
  async open(place: Place, column?: vscode.ViewColumn): Promise<void> {
    const before = this.end()
    const uri = uriOf(place)
    const document = await vscode.workspace.openTextDocument(uri)
    const { start } = rangeIn(document, place)
    const preview = vscode.workspace
      .getConfiguration('workbench.editor')
      .get('enablePreviewFromQuickOpen', false)
    await this.inTurn(async () => {
      if (column === vscode.ViewColumn.Beside && before) await this.putBack(before)
      await vscode.window.showTextDocument(document, {
        ...(column === undefined ? {} : { viewColumn: column }),
        preview,
        selection: new vscode.Range(start, start),
      })
    })
    await this.release(uri)
  }

  /** Puts back what was open, where it was, and closes what was only previewed. */
  async restore(): Promise<void> {
    const before = this.end()
    if (before) await this.inTurn(() => this.putBack(before))
  }

  /** Middleware of the client: whether a document that was opened is to be told to the server. */
  async opened(document: vscode.TextDocument, tell: () => Promise<void>): Promise<void> {
    const name = document.uri.toString()
    if (this.before && this.shown.has(name)) this.held.set(name, tell)
    else await tell()
  }

  /** Middleware of the client: a change of a document, unless that is told with its whole text now. */
  async changed(document: vscode.TextDocument, tell: () => Promise<void>): Promise<void> {
    if (this.held.has(document.uri.toString())) await this.release(document.uri)
    else await tell()
  }

  /** Middleware of the client: whether the server has been told of a document at all. */
  closed(document: vscode.TextDocument): boolean {
    return !this.held.delete(document.uri.toString())
  }

  /** Tells the server of a document that was only previewed until now. */
  async release(uri: vscode.Uri): Promise<void> {
    const name = uri.toString()
    const tell = this.held.get(name)
    this.held.delete(name)
    await tell?.()
  }

  dispose(): void {
    for (const one of this.disposables) one.dispose()
  }

  private inTurn(task: () => Promise<void>): Promise<void> {
    const done = this.turn.then(task)
    this.turn = done.catch(() => undefined)
    return done
  }

  private end(): Before | undefined {
    this.latest++
    const before = this.before
    this.before = undefined
    for (const editor of vscode.window.visibleTextEditors) this.highlight(editor)
    return before
  }

  private async putBack(before: Before): Promise<void> {
    const { editor } = before
    await this.closeShown(before)
    if (before.previewed && !isOpen(before.previewed, before.column)) {
      await showAgain(before.previewed, before.column, true)
    }
    if (!editor) return
    const again = await showAgain(editor.document.uri, before.column, before.editorIsPreview)
    if (!again) return
    again.selections = before.selections
    if (before.visible) again.revealRange(before.visible, vscode.TextEditorRevealType.AtTop)
  }

  private async closeShown(before: Before): Promise<void> {
    const group = groupAt(before.column)
    const tabs = group?.tabs.filter((tab) => {
      const name = uriOfTab(tab)?.toString()
      return name !== undefined && this.shown.has(name) && !before.open.has(name) && !tab.isDirty
    })
    this.shown.clear()
    if (tabs?.length) await vscode.window.tabGroups.close(tabs, true)
  }

  private highlight(editor: vscode.TextEditor, place?: Place, range?: vscode.Range): void {
    editor.setDecorations(this.line, place?.line === undefined || !range ? [] : [range])
    editor.setDecorations(this.match, range && !range.isEmpty ? [range] : [])
  }
}

/** The URI of a place; of a path, the file's. */
export function uriOf(place: Place): vscode.Uri {
  return /^[a-z][a-z+.-]+:\/\//.test(place.target)
    ? vscode.Uri.parse(place.target, true)
    : vscode.Uri.file(place.target)
}

/** The range of a place in a text, which may have changed since it was found. */
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

function stateOfActiveGroup(): Before {
  const group = vscode.window.tabGroups.activeTabGroup
  const editor = vscode.window.activeTextEditor
  const here = editor?.viewColumn === group.viewColumn ? editor : undefined
  const preview = group.tabs.find((tab) => tab.isPreview)
  const names = group.tabs.map((tab) => uriOfTab(tab)?.toString())
  return {
    column: group.viewColumn,
    open: new Set(names.filter((name) => name !== undefined)),
    previewed: preview && uriOfTab(preview),
    editor: here,
    selections: here?.selections ?? [],
    visible: here?.visibleRanges[0],
    editorIsPreview: group.activeTab?.isPreview ?? false,
  }
}

async function showAgain(
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
