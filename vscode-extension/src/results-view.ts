import * as vscode from 'vscode'

import { asMarkdown, placeText } from './core/export'
import { type Search, searchTitle } from './core/modes'
import type { Place } from './core/places'
import type { Line, Row } from './core/rows'
import type { Searches } from './core/searches'
import { openDocument } from './picker'
import type { Previews } from './previews'

type Node =
  | { readonly kind: 'search'; readonly search: Search }
  | { readonly kind: 'row'; readonly search: Search; readonly row: Row }
  | { readonly kind: 'line'; readonly search: Search; readonly row: Row; readonly line: Line }

const HAS_RESULTS = 'winnow.hasResults'

/** The view of recent searches, and the commands for the next and previous result. */
export class ResultsView implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<Node | undefined>()
  readonly onDidChangeTreeData = this.changed.event
  private readonly nodes = new Map<string, Node>()
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
      command('open', (node) => this.open(node)),
      command('openToSide', (node) => this.open(node, vscode.ViewColumn.Beside)),
      command('openDocument', (node) => node.kind !== 'search' && this.openDocument(node.row)),
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

  getChildren(node?: Node): Node[] {
    if (!node) return this.searches.all.map((search) => this.node({ kind: 'search', search }))
    const { search } = node
    if (node.kind === 'search') {
      return search.rows.map((row) => this.node({ kind: 'row', search, row }))
    }
    if (node.kind === 'line') return []
    return node.row.lines.map((line) => this.node({ kind: 'line', search, row: node.row, line }))
  }

  getParent(node: Node): Node | undefined {
    const { search } = node
    if (node.kind === 'search') return undefined
    return this.node(node.kind === 'row' ? { kind: 'search', search } : { kind: 'row', search, row: node.row })
  }

  getTreeItem(node: Node): vscode.TreeItem {
    const item = node.kind === 'search' ? this.searchItem(node.search) : leafItem(node)
    item.id = idOf(node)
    return item
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose()
  }

  private searchItem(search: Search): vscode.TreeItem {
    const open = search.id === this.searches.current?.id
    const item = new vscode.TreeItem(
      searchTitle(search),
      open ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed,
    )
    item.description = search.headline.parts.join(' · ')
    item.tooltip = [searchTitle(search), ...search.headline.parts, ...search.headline.details].join('\n')
    item.iconPath = new vscode.ThemeIcon(search.mode.icon)
    item.contextValue = 'search'
    return item
  }

  private async open(node: Node, column?: vscode.ViewColumn): Promise<void> {
    if (node.kind === 'search') return
    this.searches.opened(node.search.id, node.row.key)
    await this.show(node.kind === 'line' ? node.line.place : node.row.place, column)
  }

  private async show(place: Place, column?: vscode.ViewColumn): Promise<void> {
    try {
      await this.previews.open(place, column)
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
    await this.show(result.row.place)
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
    const { parts, details } = search.headline
    const notes = [parts.join(' · '), ...details]
    const content = asMarkdown(searchTitle(search), notes, search.rows)
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
  const row = `${search}\0${node.row.key}`
  return node.kind === 'row' ? row : `${row}\0${node.line.place.line}:${node.line.place.columns?.[0]}`
}

function leafItem(node: Exclude<Node, { kind: 'search' }>): vscode.TreeItem {
  const { row } = node
  const isRow = node.kind === 'row'
  const icon = /^\$\(([\w~-]+)\) /.exec(row.label)
  const label = isRow ? row.label.replace(/^\$\([\w~-]+\) /, '') : node.line.text
  const nested = isRow && row.lines.length > 0
  const item = new vscode.TreeItem(
    label,
    nested ? vscode.TreeItemCollapsibleState.Collapsed : vscode.TreeItemCollapsibleState.None,
  )
  if (isRow) item.description = [row.detail, row.description].filter(Boolean).join(' · ')
  else item.description = String(node.line.place.line)
  item.tooltip = isRow ? [placeText(row), row.label, row.detail].join('\n') : node.line.text
  if (icon?.[1]) item.iconPath = new vscode.ThemeIcon(icon[1])
  item.contextValue = row.document ? 'document' : 'result'
  item.command = { command: 'winnow.results.open', title: 'Open', arguments: [node] }
  return item
}

async function copy(nodes: readonly (Node | undefined)[]): Promise<void> {
  const texts = nodes.map((node) => {
    if (!node) return ''
    if (node.kind === 'search') return node.search.rows.map(placeText).join('\n')
    return node.kind === 'row' ? placeText(node.row) : `${node.row.displayPath}:${node.line.place.line}`
  })
  await vscode.env.clipboard.writeText(texts.filter(Boolean).join('\n'))
}
