import * as vscode from 'vscode'

import { registerMcp, registerTools } from './agents'
import { Consent } from './consent'
import { CODE, DOCUMENTS, KEYWORD, MODES, type AnyMode, SEMANTIC, SYMBOLS, TEXT } from './core/modes'
import { Searches } from './core/searches'
import { Documents, SCHEME } from './documents'
import { EditorModel } from './editor-model'
import { installServer, offerServer } from './install'
import { ServerMissing } from './locator'
import { log, messageOf } from './log'
import { chooseFromHistory, chooseMode, type Parts, Picker, type Resumed } from './picker'
import { Previews } from './previews'
import { ResultsView } from './results-view'
import { Secrets } from './secrets'
import { Server } from './server'
import { Status } from './status'

/** A change of one of these takes a new server: its environment or what it was told at its start. */
const NEEDS_RESTART = [
  'winnow.server.command',
  'winnow.editorModel.enabled',
  'winnow.languageFeatures',
]

/** What other extensions and tests can use. */
export interface Api {
  /** Milliseconds that activation took. */
  readonly activationMilliseconds: number
}

export function activate(context: vscode.ExtensionContext): Api {
  const began = performance.now()
  const extension = new Extension(context)
  extension.register()
  // An index is there: it is kept up to date, as it was when this folder was searched before.
  void extension.startWhereIndexed()
  const activationMilliseconds = performance.now() - began
  log.info(`Activated in ${activationMilliseconds.toFixed(1)} ms`)
  return { activationMilliseconds }
}

/** Disposed by the context; this waits until the server has stopped. */
export async function deactivate(): Promise<void> {
  await stopping?.()
}

let stopping: (() => Promise<void>) | undefined

/** Commands and what they share. */
class Extension {
  private readonly previews = new Previews()
  private readonly searches = new Searches()
  private readonly secrets: Secrets
  private readonly server: Server
  private readonly status: Status
  private readonly view: ResultsView
  private readonly consent: Consent
  private readonly parts: Parts
  private last: Resumed | undefined

  constructor(private readonly context: vscode.ExtensionContext) {
    this.secrets = new Secrets(context)
    this.server = new Server(context, this.previews, this.secrets, new EditorModel())
    this.consent = new Consent(this.server)
    this.status = new Status(this.server, this.searches)
    this.view = new ResultsView(this.searches, this.previews, (search) =>
      this.search(search.mode, search.query),
    )
    this.parts = {
      context,
      server: this.server,
      previews: this.previews,
      searches: this.searches,
      consent: this.consent,
      kept: () => {
        this.view.refresh()
        void this.status.update()
      },
      offerServer: (problem) => this.offerServer(problem),
    }
    stopping = () => this.server.stop()
  }

  register(): void {
    this.context.subscriptions.push(
      this.previews,
      this.server,
      this.status,
      this.view,
      ...this.commands(),
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, new Documents(this.server)),
      ...registerTools(this.context.extension, this.server),
      vscode.workspace.onDidChangeConfiguration((event) => void this.configurationChanged(event)),
      vscode.workspace.onDidGrantWorkspaceTrust(() => void this.restartIfRunning()),
    )
    const mcp = registerMcp(this.context, this.secrets)
    if (mcp) this.context.subscriptions.push(mcp)
  }

  /** Starts the server in the background where an earlier session has left an index. */
  async startWhereIndexed(): Promise<void> {
    for (const folder of vscode.workspace.workspaceFolders ?? []) {
      try {
        await vscode.workspace.fs.stat(vscode.Uri.joinPath(folder.uri, '.winnow'))
        await this.server.started()
        return
      } catch (error) {
        // No index here; or no server, which whoever searches is told.
        log.debug(`Not started for ${folder.name}: ${messageOf(error)}`)
      }
    }
  }

  private commands(): vscode.Disposable[] {
    const command = (name: string, run: (...args: never[]) => unknown) =>
      vscode.commands.registerCommand(`winnow.${name}`, run)
    const search = (name: string, mode: AnyMode) =>
      command(name, (query?: string) => this.search(mode, query))
    return [
      search('keywordSearch', KEYWORD),
      search('searchDocuments', DOCUMENTS),
      search('searchSymbols', SYMBOLS),
      search('searchText', TEXT),
      search('semanticSearch', SEMANTIC),
      search('codeSearch', CODE),
      command('search', async (id?: string) => {
        const mode = MODES.find((one) => one.id === id) ?? (await chooseMode())
        if (mode) this.search(mode)
      }),
      command('resume', () => this.resume()),
      command('history', async () => {
        const chosen = await chooseFromHistory(this.context)
        if (chosen) this.search(chosen.mode, chosen.query)
      }),
      command('menu', () => this.status.menu()),
      command('restart', () => this.restart()),
      command('installServer', () => this.install()),
      command('showLog', () => log.show()),
      command('consent', () => this.telling(() => this.consent.decide())),
      command('audit', () => this.telling(() => this.consent.showAudit())),
      command('setKey', async () => {
        if (await this.secrets.change()) await this.restartIfRunning()
      }),
    ]
  }

  private search(mode: AnyMode, query?: string): void {
    new Picker(this.parts, mode, (resumed) => {
      this.last = resumed
    }).ask(query ?? selectedText())
    // Started while somebody types. What is wrong is told when it is needed.
    this.server.started().catch((error: unknown) => log.info(messageOf(error)))
  }

  private resume(): void {
    const { last } = this
    if (!last) {
      void vscode.window.showInformationMessage('Winnow: no search to resume yet.')
      return
    }
    new Picker(this.parts, last.mode, (resumed) => {
      this.last = resumed
    }).resume(last)
  }

  private restart(): Promise<void> {
    return this.telling(async () => {
      await this.server.restart()
      void vscode.window.setStatusBarMessage('Winnow: server restarted', 3_000)
    })
  }

  /** Does something, and says what hinders it. */
  private async telling(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (error instanceof ServerMissing) await this.offerServer(error)
      else void vscode.window.showErrorMessage(`Winnow: ${messageOf(error)}`)
    }
  }

  private async restartIfRunning(): Promise<void> {
    if (this.server.isRunning) await this.restart()
  }

  private async configurationChanged(event: vscode.ConfigurationChangeEvent): Promise<void> {
    if (NEEDS_RESTART.some((name) => event.affectsConfiguration(name))) {
      await this.restartIfRunning()
    } else if (event.affectsConfiguration('winnow')) {
      await this.server.settingsChanged()
    }
  }

  private async offerServer(problem: ServerMissing): Promise<void> {
    if (await offerServer(this.context, problem)) await this.installed()
  }

  private async install(): Promise<void> {
    if (await installServer(this.context)) await this.installed()
  }

  private async installed(): Promise<void> {
    await this.restart()
    const version = this.server.program?.version
    if (version && this.server.isRunning) {
      void vscode.window.showInformationMessage(`Winnow ${version} is installed and running.`)
    }
  }
}

/** What is selected, if that is a part of one line: most likely what somebody looks for. */
function selectedText(): string {
  const editor = vscode.window.activeTextEditor
  if (!editor || editor.selection.isEmpty || !editor.selection.isSingleLine) return ''
  return editor.document.getText(editor.selection).trim().slice(0, 200)
}
