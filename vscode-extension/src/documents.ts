import * as vscode from 'vscode'

import { type DocumentText, documentText } from './core/protocol'
import type { Server } from './server'

export const SCHEME = 'winnow-doc'
/** What VS Code opens at most as a text, in characters: it closes larger ones. */
const MOST_CHARACTERS = 50 * 1024 * 1024

/** The text of PDFs, office files and the like, as the server reads them. */
export class Documents implements vscode.TextDocumentContentProvider {
  constructor(private readonly server: Server) {}

  /** The whole text, with a ruler where each page begins. Throws with the server's reason. */
  async provideTextDocumentContent(
    uri: vscode.Uri,
    token: vscode.CancellationToken,
  ): Promise<string> {
    const path = uri.toString()
    let text = ''
    let page: DocumentText | undefined
    do {
      const params = page?.cursor ? { path, cursor: page.cursor } : { path }
      page = await this.server.ask(documentText, params, token)
      text += page.text
    } while (page.cursor && text.length < MOST_CHARACTERS)
    const failed = (page.failed ?? []).map((one) => `──── Not read: ${one} ────\n`)
    return text + failed.join('')
  }
}
