import * as vscode from 'vscode'
import type { ServerCapabilities } from 'vscode-languageclient/node'

/** What the server can provide to the editor's own lists and views, by the name of its setting. */
const FEATURES: Record<string, keyof ServerCapabilities> = {
  workspaceSymbols: 'workspaceSymbolProvider',
  definitions: 'definitionProvider',
  references: 'referencesProvider',
  callHierarchy: 'callHierarchyProvider',
  documentSymbols: 'documentSymbolProvider',
  documentHighlights: 'documentHighlightProvider',
}

/**
 * Takes out what is not wanted before the client registers providers.
 *
 * A provider that always answers nothing would not do: the editor shows that there is one.
 */
export function withoutFeatures(capabilities: ServerCapabilities): void {
  const wanted = vscode.workspace.getConfiguration('winnow').get<string[]>('languageFeatures', [])
  for (const [name, capability] of Object.entries(FEATURES)) {
    if (!wanted.includes(name)) delete capabilities[capability]
  }
}
