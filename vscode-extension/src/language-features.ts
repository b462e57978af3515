import * as path from 'node:path'
import * as vscode from 'vscode'
import type { Middleware, ServerCapabilities } from 'vscode-languageclient/node'

import { BUDGET_MS, OtherLanguages, within } from './core/coexistence'
import { log, messageOf } from './log'

/** The server's capabilities for the editor's built-in features, by the name in the setting. */
const FEATURES: Record<string, keyof ServerCapabilities> = {
  workspaceSymbols: 'workspaceSymbolProvider',
  definitions: 'definitionProvider',
  references: 'referencesProvider',
  callHierarchy: 'callHierarchyProvider',
  documentSymbols: 'documentSymbolProvider',
  documentHighlights: 'documentHighlightProvider',
}

type Policy = 'auto' | 'on' | 'off'

const policy = () =>
  vscode.workspace.getConfiguration('winnow').get<Policy>('provideLanguageFeatures', 'auto')

function enabledFeatures(): readonly string[] {
  if (policy() === 'off') return []
  return vscode.workspace.getConfiguration('winnow').get<string[]>('languageFeatures', [])
}

/**
 * Remove disabled capabilities before the client registers providers.
 *
 * A provider that always returns nothing is not enough: the editor would still show the feature.
 */
export function withoutFeatures(capabilities: ServerCapabilities): void {
  const enabled = enabledFeatures()
  for (const [name, capability] of Object.entries(FEATURES)) {
    if (!enabled.includes(name)) delete capabilities[capability]
  }
}

/** Return true if Winnow lists the symbols of documents, which it doesn't by default. */
const listsSymbols = () => enabledFeatures().includes('documentSymbols')

/** A request to the server, without its token. */
type Next<T> = (token: vscode.CancellationToken) => vscode.ProviderResult<T>

/**
 * Leaves languages to the extensions that handle them.
 *
 * The editor asks all extensions, waits for the slowest and merges their results. With `auto`, the
 * server isn't asked about a language that another extension handles; with `on`, it has BUDGET_MS.
 */
export class LanguageFeatures implements vscode.Disposable {
  private readonly others = new OtherLanguages()
  /** The number of answers that came too late and were dropped. */
  private late = 0
  private languagesByName: Map<string, string> | undefined
  private readonly disposables: vscode.Disposable[]

  constructor() {
    const prepare = (editor: vscode.TextEditor | undefined) => {
      if (editor) void this.isHandled(editor.document)
    }
    this.disposables = [
      vscode.window.onDidChangeActiveTextEditor(prepare),
      vscode.extensions.onDidChange(() => {
        this.others.clear()
        this.languagesByName = undefined
      }),
    ]
    prepare(vscode.window.activeTextEditor)
  }

  /** The client's middleware. */
  readonly middleware: Middleware = {
    provideDefinition: (document, position, token, next) =>
      this.answer(document, token, (token) => next(document, position, token)),
    provideReferences: (document, position, options, token, next) =>
      this.answer(document, token, (token) => next(document, position, options, token)),
    prepareCallHierarchy: (document, position, token, next) =>
      this.answer(document, token, (token) => next(document, position, token)),
    provideWorkspaceSymbols: async (query, token, next) => {
      if (!this.others.all.length) return next(query, token)
      const symbols = await this.inTime(token, (token) => next(query, token))
      if (policy() === 'on') return symbols
      return symbols?.filter(({ location }) => !this.others.has(this.languageOf(location.uri)))
    },
  }

  /** Return a line for the menu. */
  get summary(): string {
    if (policy() === 'off') return 'Off'
    const languages = this.others.all.join(', ')
    const left = languages ? `${policy() === 'on' ? 'Shared with' : 'Left to'} other extensions: ${languages}` : 'For all languages'
    return this.late ? `${left} · ${this.late} ${this.late === 1 ? 'answer' : 'answers'} came too late` : left
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose()
  }

  private async answer<T>(
    document: vscode.TextDocument,
    token: vscode.CancellationToken,
    next: Next<T>,
  ): Promise<T | undefined | null> {
    if (policy() === 'on') return this.inTime(token, next, this.isHandled(document))
    if (listsSymbols()) return this.inTime(token, next)
    return (await this.isHandled(document)) ? undefined : next(token)
  }

  /** Return the answer, or undefined if it takes too long and another extension handles the language. */
  private async inTime<T>(
    token: vscode.CancellationToken,
    next: Next<T>,
    handled: Promise<boolean> = Promise.resolve(true),
  ): Promise<T | undefined | null> {
    const source = new vscode.CancellationTokenSource()
    const listener = token.onCancellationRequested(() => source.cancel())
    try {
      const answer = Promise.resolve(next(source.token))
      const result = await within(BUDGET_MS, answer.then((value) => ({ value })))
      if (result) return result.value
      if (!(await handled)) return await answer
      answer.catch(() => undefined) // It is canceled.
      source.cancel()
      this.late++
      return undefined
    } finally {
      listener.dispose()
      source.dispose()
    }
  }

  /** Return true if another extension lists the symbols of a document. */
  private isHandled(document: vscode.TextDocument): Promise<boolean> {
    if (listsSymbols()) return Promise.resolve(true) // Unknown: the symbols may be Winnow's.
    return this.others.isHandled(document.languageId, async () => {
      try {
        const symbols = await vscode.commands.executeCommand<unknown[] | undefined>(
          'vscode.executeDocumentSymbolProvider',
          document.uri,
        )
        return Boolean(symbols?.length)
      } catch (error) {
        log.debug(`Could not list the symbols of ${document.fileName}: ${messageOf(error)}`)
        return false
      }
    })
  }

  /** Return the language of a file by its name, as extensions define it; empty if unknown. */
  private languageOf(uri: vscode.Uri): string {
    this.languagesByName ??= languagesByName()
    const name = path.posix.basename(uri.path)
    for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
      const language = this.languagesByName.get(name.slice(dot).toLowerCase())
      if (language) return language
    }
    return this.languagesByName.get(name.toLowerCase()) ?? ''
  }
}

/** Return the identifiers of languages by file name and by file extension. */
function languagesByName(): Map<string, string> {
  const found = new Map<string, string>()
  for (const { packageJSON } of vscode.extensions.all) {
    const { contributes } = packageJSON as {
      contributes?: { languages?: { id: string; extensions?: string[]; filenames?: string[] }[] }
    }
    for (const { id, extensions = [], filenames = [] } of contributes?.languages ?? []) {
      for (const name of [...extensions, ...filenames]) found.set(name.toLowerCase(), id)
    }
  }
  return found
}
