import * as vscode from 'vscode'

import { titleOf } from './core/headline'
import { formatQuery, parseQuery, type Query } from './core/query'
import { folderOf, type Row } from './core/rows'

/** File types of ripgrep, the most common first. */
const TYPES = [
  'py', 'ts', 'js', 'java', 'rust', 'go', 'c', 'cpp', 'csharp', 'ruby', 'php', 'kotlin', 'swift',
  'html', 'css', 'json', 'yaml', 'toml', 'md', 'sh', 'sql',
]

type Change = (query: Query, rows: readonly Row[]) => Query | Promise<Query | undefined>

/** Let the user narrow a query. Return the new text, or undefined if they chose nothing. */
export async function narrow(text: string, rows: readonly Row[]): Promise<string | undefined> {
  const query = parseQuery(text)
  const item = (label: string, description: string, isOn: boolean, change: Change) => ({
    label: `${isOn ? '$(check)' : '$(blank)'} ${label}`,
    description,
    change,
  })
  const kind = (name: Query['kind']): Change => () => ({
    ...query,
    terms: [],
    kind: query.kind === name ? 'any' : name,
  })
  const items = [
    item('Symbols', '@name', query.kind === 'symbols', kind('symbols')),
    item('Exact text', '"text"', query.kind === 'text', kind('text')),
    item('Documents', '>docs', query.kind === 'documents', kind('documents')),
    item('File type…', '>type:py', query.types.length > 0, chooseTypes),
    item('Folder…', '>in:folder', query.folder !== '', chooseFolder),
    item('Changed files', '>changed: files that differ from the last commit', query.isChanged, () => ({
      ...query,
      isChanged: !query.isChanged,
    })),
    item('Ignored and hidden files too', '>ignored: as exact text', query.isIgnored, () => ({
      ...query,
      isIgnored: !query.isIgnored,
    })),
  ]
  const chosen = await vscode.window.showQuickPick(items, {
    title: titleOf(query.words, undefined),
    placeHolder: 'Narrow the search; the query stays',
    matchOnDescription: true,
  })
  const changed = await chosen?.change(query, rows)
  return changed && formatQuery(changed)
}

async function chooseTypes(query: Query): Promise<Query | undefined> {
  const items = TYPES.map((label) => ({ label, picked: query.types.includes(label) }))
  const chosen = await vscode.window.showQuickPick(items, {
    title: 'File types to search',
    placeHolder: 'Choose none for all; type >type:name in the box for others',
    canPickMany: true,
  })
  return chosen && { ...query, types: chosen.map(({ label }) => label) }
}

async function chooseFolder(query: Query, rows: readonly Row[]): Promise<Query | undefined> {
  const browse = '$(folder-opened) Browse…'
  const all = '$(root-folder) All folders'
  const items = [...new Set([...foldersOf(activePath()), ...rows.flatMap(folderOf)])].slice(0, 30)
  const chosen = await vscode.window.showQuickPick([all, ...items, browse], {
    title: 'Folder to search in',
  })
  if (chosen !== browse) return chosen === undefined ? undefined : { ...query, folder: chosen === all ? '' : chosen }
  const [uri] = (await vscode.window.showOpenDialog({ canSelectFolders: true, canSelectFiles: false })) ?? []
  return uri && { ...query, folder: relative(uri) }
}

function activePath(): string {
  const uri = vscode.window.activeTextEditor?.document.uri
  return uri && vscode.workspace.getWorkspaceFolder(uri) ? relative(uri) : ''
}

/** Return a path relative to the workspace's folder; absolute if there are several. */
function relative(uri: vscode.Uri): string {
  const isSingle = (vscode.workspace.workspaceFolders ?? []).length === 1
  return isSingle ? vscode.workspace.asRelativePath(uri, false) : uri.fsPath
}

/** Return the folders of a path, the innermost first. */
function foldersOf(path: string): string[] {
  const folders: string[] = []
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    folders.push(path.slice(0, end))
  }
  return folders
}
