import * as vscode from 'vscode'

import { REPOSITORY_SCHEME, repositoryFile, targetOf } from './core/places'
import { type FileContent, readFile } from './core/protocol'
import type { Located } from './previews'
import type { Server } from './server'

/** The server's limit for an answer. */
const MAX_LINES = 10_000
/** Number of texts to keep, so that moving through a list requests each once. */
const MAX_TEXTS = 20
const NONE = new vscode.CancellationTokenSource().token

interface Text {
  readonly located: Located
  readonly text: string
}

/**
 * Files of repositories in the search cluster, as read-only documents. If a folder of the workspace
 * is a clone with an identical file, that file is opened instead.
 */
export class Repositories implements vscode.TextDocumentContentProvider {
  /** The texts by URI, the last one read last. */
  private readonly texts = new Map<string, Text>()

  constructor(private readonly server: Server) {}

  /** Return the URI to open for a place. Throws the server's error if the cluster lacks the file. */
  async locate(uri: vscode.Uri): Promise<Located> {
    return uri.scheme === REPOSITORY_SCHEME ? (await this.read(uri, NONE)).located : { uri, notes: [] }
  }

  async provideTextDocumentContent(uri: vscode.Uri, token: vscode.CancellationToken): Promise<string> {
    return (this.texts.get(uri.toString()) ?? (await this.read(uri, token))).text
  }

  private async read(uri: vscode.Uri, token: vscode.CancellationToken): Promise<Text> {
    const key = uri.toString()
    const known = this.texts.get(key)
    const found = known?.located.uri.scheme === REPOSITORY_SCHEME ? known : await this.request(uri, token)
    this.texts.delete(key)
    this.texts.set(key, found)
    for (const oldest of [...this.texts.keys()].slice(0, -MAX_TEXTS)) this.texts.delete(oldest)
    return found
  }

  private async request(uri: vscode.Uri, token: vscode.CancellationToken): Promise<Text> {
    const file = repositoryFile(uri.path)
    if (!file) throw new Error('this is no file of a repository')
    const pages: FileContent[] = []
    let cursor: string | undefined
    do {
      const params = { ...file, max_lines: MAX_LINES, ...(cursor ? { cursor } : {}) }
      const page = await this.server.request(readFile, params, token)
      pages.push(page)
      // The editor reads a file of the workspace itself.
      cursor = page.repository ? page.cursor : undefined
    } while (cursor)
    const [first] = pages as [FileContent]
    const isLocal = !first.repository
    return {
      located: {
        uri: isLocal ? vscode.Uri.file(targetOf(first, first.root)) : uri,
        notes: isLocal ? [] : [...new Set(pages.flatMap(({ warnings, completeness }) => [...warnings, ...completeness.reasons]))],
      },
      text: pages.flatMap(({ chunks }) => chunks.map(({ content }) => content)).join(''),
    }
  }
}
