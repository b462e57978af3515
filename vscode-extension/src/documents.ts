import * as vscode from 'vscode'

import { type DocumentText, documentText } from './core/protocol'
import type { Server } from './server'

export const SCHEME = 'winnow-doc'
/** Maximum length of a text document in characters. VS Code closes longer ones. */
const MAX_CHARACTERS = 50 * 1024 * 1024

/** A provider of the text that the server extracts from PDFs, office files and other documents. */
export class Documents implements vscode.TextDocumentContentProvider {
  constructor(private readonly server: Server) {}

  /** Return the complete text, with a separator before each page. Throws the server's error. */
  async provideTextDocumentContent(
    uri: vscode.Uri,
    token: vscode.CancellationToken,
  ): Promise<string> {
    const path = uri.toString()
    let text = ''
    let page: DocumentText | undefined
    do {
      const params = page?.cursor ? { path, cursor: page.cursor } : { path }
      page = await this.server.request(documentText, params, token)
      text += page.text
    } while (page.cursor && text.length < MAX_CHARACTERS)
    const failed = (page.failed ?? []).map((problem) => `──── Not read: ${problem} ────\n`)
    return text + failed.join('')
  }
}
