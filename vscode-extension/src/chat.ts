import * as vscode from 'vscode'

import { afterLink, plainText, shownOf } from './core/chat'
import { LOCAL } from './core/headline'
import { isSearchable, parseQuery } from './core/query'
import type { Row } from './core/rows'
import { forPeople } from './core/wording'
import type { EditorModel } from './editor-model'
import { ServerMissing } from './locator'
import { log, messageOf } from './log'
import { uriOf } from './previews'
import { type Found, Searcher } from './searcher'
import type { Server } from './server'

const ID = 'winnow.chat'
/** Places in an answer. The search box shows all. */
const LISTED = 5
/** The name of the editor's own model in the server. */
const EDITOR = 'editor'
const HELP =
  'Ask where something is, such as `@winnow where are expired sessions deleted`. ' +
  'A name, a piece of code or an error message works too.'

/** Register `@winnow`, which answers with the places that the search box would list. */
export function registerParticipant(
  context: vscode.ExtensionContext,
  server: Server,
  model: EditorModel,
): vscode.Disposable {
  const participant = vscode.chat.createChatParticipant(ID, (request, _, stream, token) =>
    new Answer(server, model, request, stream).write(token),
  )
  participant.iconPath = vscode.Uri.joinPath(context.extensionUri, 'media/icon.png')
  return participant
}

/** The answer to one request: the places, then what the chat's model says about them. */
class Answer {
  private readonly searcher: Searcher

  constructor(
    server: Server,
    private readonly model: EditorModel,
    private readonly request: vscode.ChatRequest,
    private readonly stream: vscode.ChatResponseStream,
  ) {
    this.searcher = new Searcher(server)
  }

  async write(token: vscode.CancellationToken): Promise<vscode.ChatResult> {
    const listener = token.onCancellationRequested(() => this.searcher.cancel())
    try {
      await this.writeAnswer()
      return {}
    } catch (error) {
      return this.failure(error)
    } finally {
      listener.dispose()
    }
  }

  private get question(): string {
    return this.request.prompt.trim()
  }

  private async writeAnswer(): Promise<void> {
    if (!isSearchable(parseQuery(this.question))) {
      this.stream.markdown(HELP)
      return
    }
    const found = await this.searcher.search(this.question, () => undefined)
    if (found) await this.writeFound(found)
  }

  private async writeFound(found: Found): Promise<void> {
    const { rows } = found.list
    if (!rows.length) {
      this.stream.markdown('Nothing found. Try a name, or other words.')
      return
    }
    // Without progress messages: the editor would fold the list into its steps.
    const { count, note } = found.headline
    this.stream.markdown(`${[shownOf(count, rows.length, LISTED), note].filter(Boolean).join(', ')}:\n\n`)
    this.list(rows.slice(0, LISTED))
    if (found.canAsk && this.model.isEnabled) await this.writeChoice(rows)
    else if (found.canAsk) this.offerModel()
    this.stream.button({ title: 'Show in the Search Box', command: 'winnow.search', arguments: [this.question] })
  }

  /** Link to the setting that lets the chat's model choose. */
  private offerModel(): void {
    const settings = 'workbench.action.openSettings'
    const argument = encodeURIComponent(JSON.stringify(['winnow.editorModel.enabled']))
    const link = new vscode.MarkdownString(`\n[Let this chat’s model choose](command:${settings}?${argument})\n`)
    link.isTrusted = { enabledCommands: [settings] }
    this.stream.markdown(link)
  }

  /** Let the chat's model choose among the places and word a reason for each. */
  private async writeChoice(rows: readonly Row[]): Promise<void> {
    // In spite of its type, it is undefined if the editor has no model.
    const model = this.request.model as vscode.LanguageModelChat | undefined
    if (!model) return
    try {
      const found = await this.model.during(model, () =>
        this.searcher.ask(this.question, rows, () => undefined, EDITOR),
      )
      if (found) this.listChosen(model, found)
    } catch (error) {
      this.noAnswer(model, messageOf(error))
    }
  }

  private listChosen(model: vscode.LanguageModelChat, { headline, list }: Found): void {
    if (headline.by === LOCAL) {
      this.noAnswer(model, headline.details.join(' '))
      return
    }
    const name = `**${plainText(model.name)}**`
    if (!list.chosenCount) {
      this.stream.markdown(`\n${name} found none of these places relevant.\n`)
      return
    }
    this.stream.markdown(`\n${name} chose:\n\n`)
    for (const row of list.rows.slice(0, Math.min(list.chosenCount, LISTED))) {
      this.stream.markdown('- ')
      this.link(row)
      this.stream.markdown(` ${plainText(row.reason)}\n`)
    }
  }

  /** The list stays as it is, and the log has the reason. */
  private noAnswer(model: vscode.LanguageModelChat, reason: string): void {
    log.info(`No answer of ${model.name} in the chat: ${reason}`)
    this.stream.markdown(`\n${plainText(model.name)} didn’t answer. Winnow’s log has the reason.\n`)
  }

  private list(rows: readonly Row[]): void {
    rows.forEach((row, index) => {
      this.stream.markdown(`${index + 1}. `)
      this.link(row)
      this.stream.markdown(afterLink(row))
    })
  }

  private link({ name, place }: Row): void {
    const position = new vscode.Position(Math.max((place.line ?? 1) - 1, 0), 0)
    this.stream.anchor(new vscode.Location(uriOf(place), position), name)
  }

  private failure(error: unknown): vscode.ChatResult {
    if (error instanceof ServerMissing) {
      this.stream.button({ title: 'Install the Server', command: 'winnow.installServer' })
    }
    log.error(`The chat's request failed: ${messageOf(error)}`)
    return { errorDetails: { message: forPeople(messageOf(error)) } }
  }
}
