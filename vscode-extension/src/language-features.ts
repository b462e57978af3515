import * as vscode from 'vscode'
import type { ServerCapabilities } from 'vscode-languageclient/node'

/** The server's capabilities for the editor's built-in features, by the name in the setting. */
const FEATURES: Record<string, keyof ServerCapabilities> = {
  workspaceSymbols: 'workspaceSymbolProvider',
  definitions: 'definitionProvider',
  references: 'referencesProvider',
  callHierarchy: 'callHierarchyProvider',
  documentSymbols: 'documentSymbolProvider',
  documentHighlights: 'documentHighlightProvider',
}

/**
 * Remove disabled capabilities before the client registers providers.
 *
 * A provider that always returns nothing is not enough: the editor would still show the feature.
 */
export function withoutFeatures(capabilities: ServerCapabilities): void {
  const enabled = vscode.workspace.getConfiguration('winnow').get<string[]>('languageFeatures', [])
  for (const [name, capability] of Object.entries(FEATURES)) {
    if (!enabled.includes(name)) delete capabilities[capability]
  }
}
