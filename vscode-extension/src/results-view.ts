import * as vscode from 'vscode'

import { asMarkdown, placeText } from './core/export'
import { byFile, type FileGroup } from './core/groups'
import { highlightsOf } from './core/highlights'
import { iconOf, type Search, searchTitle } from './core/kinds'
import { type Place, splitPath } from './core/places'
import type { Line, Row } from './core/rows'
import type { Searches } from './core/searches'
import { openDocument } from './picker'
import { type OpenOptions, type Previews, uriOf } from './previews'

type Node =
  | { readonly kind: 'search'; readonly search: Search }
  | { readonly kind: 'file'; readonly search: Search; readonly file: FileGroup }
  | { readonly kind: 'row'; readonly search: Search; readonly row: Row }
  | { readonly kind: 'line'; readonly search: Search; readonly row: Row; readonly line: Line }

const HAS_RESULTS = 'winnow.hasResults'
/** A second click within this time is a double click, which the editor doesn't report. */
const DOUBLE_CLICK_MS = 500

/** The view of recent searches, and the commands for the next and previous result. */
export class ResultsView implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<Node | undefined>()
  readonly onDidChangeTreeData = this.changed.event
  private readonly nodes = new Map<string, Node>()
  private clicked: { readonly id: string; readonly at: number } | undefined
  private readonly view: vscode.TreeView<Node>
  private readonly disposables: vscode.Disposable[]

  constructor(
    private readonly searches: Searches,
    private readonly previews: Previews,
    private readonly searchAgain: (search: Search) => void,
  ) {
    this.view = vscode.window.createTreeView('winnow.results', {
      treeDataProvider: this,
      showCollapseAll: true,
      canSelectMany: true,
    })
    const command = (name: string, run: (node: Node, nodes?: Node[]) => unknown) =>
      vscode.commands.registerCommand(`winnow.results.${name}`, run)
    this.disposables = [
      this.view,
      this.changed,
      command('open', (node) => this.click(node)),
      command('openToSide', (node) => this.open(node, { column: vscode.ViewColumn.Beside })),
      command('openDocument', (node) => 'row' in node && this.openDocument(node.row)),
      command('copy', (node, nodes) => copy(nodes ?? [node ?? this.view.selection[0]])),
      command('copyAll', (node) => this.copyAll(node)),
      command('export', (node) => this.exportSearch(node)),
      command('remove', (node) => this.remove(node)),
      command('again', (node) => this.searchAgain(node.search)),
      command('clear', () => this.clear()),
      vscode.commands.registerCommand('winnow.nextResult', () => this.step(1)),
      vscode.commands.registerCommand('winnow.previousResult', () => this.step(-1)),
    ]
  }

  /** Update the view after a change of the stored searches. */
  refresh(): void {
    this.nodes.clear()
    this.changed.fire(undefined)
    void vscode.commands.executeCommand('setContext', HAS_RESULTS, this.searches.all.length > 0)
  }

  /** Show the view with the focus on a result of a search, by default the first one. */
  async show(search: Search | undefined, key: string | undefined): Promise<void> {
    const row = search?.rows.find((candidate) => candidate.key === key) ?? search?.rows[0]
    if (search && row) await this.view.reveal(this.node({ kind: 'row', search, row }), { select: true, focus: true })
    else await vscode.commands.executeCommand('winnow.results.focus')
  }

  getChildren(node?: Node): Node[] {
    if (!node) return this.searches.all.map((search) => this.node({ kind: 'search', search }))
    const { search } = node
    const row = (found: Row) => this.node({ kind: 'row', search, row: found })
    if (node.kind === 'search') {
      return byFile(search.rows).map((file) => this.node({ kind: 'file', search, file }))
    }
    if (node.kind === 'file') return node.file.rows.map(row)
    if (node.kind === 'line') return []
    return node.row.lines.map((line) => this.node({ kind: 'line', search, row: node.row, line }))
  }

  getParent(node: Node): Node | undefined {
    const { search } = node
    if (node.kind === 'search') return undefined
    if (node.kind === 'file') return this.node({ kind: 'search', search })
    if (node.kind === 'line') return this.node({ kind: 'row', search, row: node.row })
    const file = byFile(search.rows).find(({ rows }) => rows.includes(node.row))
    return file && this.node({ kind: 'file', search, file })
  }

  getTreeItem(node: Node): vscode.TreeItem {
    const item = this.item(node)
    item.id = idOf(node)
    return item
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose()
  }

  private item(node: Node): vscode.TreeItem {
    if (node.kind === 'search') return this.searchItem(node.search)
    if (node.kind === 'file') return fileItem(node.file)
    return leafItem(node)
  }

  private searchItem(search: Search): vscode.TreeItem {
    const open = search.id === this.searches.current?.id
    const item = new vscode.TreeItem(
      searchTitle(search),
      open ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed,
    )
    const { by, count, note, details } = search.headline
    item.description = [by, count, note].filter(Boolean).join(' · ')
    item.tooltip = [searchTitle(search), ...details].join('\n')
    item.iconPath = new vscode.ThemeIcon(iconOf(search.text))
    item.contextValue = 'search'
    return item
  }

  /** Open a preview tab, and at the second click a tab that stays. */
  private async click(node: Node): Promise<void> {
    const id = idOf(node)
    const isDouble = this.clicked?.id === id && Date.now() - this.clicked.at < DOUBLE_CLICK_MS
    this.clicked = { id, at: Date.now() }
    await this.open(node, { isTab: !isDouble, keepsFocus: !isDouble })
  }

  private async open(node: Node, options: OpenOptions): Promise<void> {
    if (node.kind === 'search' || node.kind === 'file') return
    this.searches.opened(node.search.id, node.row.key)
    await this.openPlace(node.kind === 'line' ? node.line.place : node.row.place, options)
  }

  private async openPlace(place: Place, options: OpenOptions): Promise<void> {
    try {
      await this.previews.open(place, options)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      void vscode.window.showErrorMessage(`Winnow: could not open the result: ${reason}`)
    }
  }

  private async openDocument(row: Row): Promise<void> {
    if (row.document) await openDocument(row.document)
  }

  private async step(by: 1 | -1): Promise<void> {
    const result = this.searches.step(by)
    if (!result) {
      void vscode.window.showInformationMessage('Winnow: no results yet.')
      return
    }
    await this.openPlace(result.row.place, { isTab: true })
    if (this.view.visible) {
      await this.view.reveal(this.node({ kind: 'row', ...result }), { select: true, focus: false })
    }
  }

  private async copyAll(node: Node | undefined): Promise<void> {
    const search = node?.search ?? this.searches.current
    if (search) await vscode.env.clipboard.writeText(search.rows.map(placeText).join('\n'))
  }

  private async exportSearch(node: Node | undefined): Promise<void> {
    const search = node?.search ?? this.searches.current
    if (!search) return
    const content = asMarkdown(searchTitle(search), search.headline.details, search.rows)
    const document = await vscode.workspace.openTextDocument({ language: 'markdown', content })
    await vscode.window.showTextDocument(document)
  }

  private remove(node: Node): void {
    this.searches.remove(node.search.id)
    this.refresh()
  }

  private clear(): void {
    this.searches.clear()
    this.refresh()
  }

  /** Return the cached node with the same ID, because `reveal` needs the identical object. */
  private node(node: Node): Node {
    const id = idOf(node)
    const cached = this.nodes.get(id)
    if (cached) return cached
    this.nodes.set(id, node)
    return node
  }
}

function idOf(node: Node): string {
  const search = String(node.search.id)
  if (node.kind === 'search') return search
  if (node.kind === 'file') return `${search}\0file\0${node.file.displayPath}`
  const row = `${search}\0${node.row.key}`
  return node.kind === 'row' ? row : `${row}\0${node.line.place.line}:${node.line.place.columns?.[0]}`
}

function fileItem({ path, displayPath, target, rows }: FileGroup): vscode.TreeItem {
  const { name, folder } = splitPath({ path, shown: displayPath })
  const item = new vscode.TreeItem(name, vscode.TreeItemCollapsibleState.Expanded)
  item.description = [folder, rows.length > 1 ? String(rows.length) : ''].filter(Boolean).join('  ')
  item.tooltip = displayPath
  // The icon of the file's type in the user's theme.
  item.resourceUri = uriOf({ target })
  item.iconPath = vscode.ThemeIcon.File
  item.contextValue = 'file'
  return item
}

/** Return the item of a result: its line of code, then where and why. The view has one line per item. */
function leafItem(node: Extract<Node, { kind: 'row' | 'line' }>): vscode.TreeItem {
  const { row } = node
  const isRow = node.kind === 'row'
  const nested = isRow && row.lines.length > 1
  const label = isRow ? row.code || row.name : node.line.text
  const item = new vscode.TreeItem(
    { label, highlights: highlightsOf(node.search.text, label) },
    nested ? vscode.TreeItemCollapsibleState.Collapsed : vscode.TreeItemCollapsibleState.None,
  )
  const { line } = isRow ? row.place : node.line.place
  item.description = [line, isRow && row.reason].filter(Boolean).join(' · ')
  item.tooltip = isRow ? [placeText(row), row.code, row.reason].filter(Boolean).join('\n') : node.line.text
  if (isRow) item.iconPath = new vscode.ThemeIcon(row.icon)
  item.contextValue = row.document ? 'document' : 'result'
  item.command = { command: 'winnow.results.open', title: 'Open', arguments: [node] }
  return item
}

async function copy(nodes: readonly (Node | undefined)[]): Promise<void> {
  const texts = nodes.map((node) => {
    if (!node) return ''
    if (node.kind === 'search') return node.search.rows.map(placeText).join('\n')
    if (node.kind === 'file') return node.file.rows.map(placeText).join('\n')
    return node.kind === 'row' ? placeText(node.row) : `${node.row.displayPath}:${node.line.place.line}`
  })
  await vscode.env.clipboard.writeText(texts.filter(Boolean).join('\n'))
}
