import * as vscode from 'vscode'

import { AgentTools } from './agents'
import { Announcement } from './announcement'
import { registerParticipant } from './chat'
import { StartFailed } from './client'
import { Consent } from './consent'
import { REPOSITORY_SCHEME } from './core/places'
import { Searches } from './core/searches'
import { Documents, SCHEME } from './documents'
import { EditorModel } from './editor-model'
import { installServer, offerOtherWays, offerServer, wantsServer } from './install'
import { LanguageFeatures } from './language-features'
import { ServerMissing } from './locator'
import { log, messageOf } from './log'
import { chooseFromHistory, Picker, type PickerServices, type PickerState } from './picker'
import { Previews } from './previews'
import { Repositories } from './repositories'
import { ResultsView } from './results-view'
import { Secrets } from './secrets'
import { Server } from './server'
import { Status } from './status'

/** Settings that take effect only when the server starts. */
const NEEDS_RESTART = [
  'winnow.server.command',
  'winnow.editorModel.enabled',
  'winnow.languageFeatures',
  'winnow.provideLanguageFeatures',
]

/** The API for other extensions and tests. */
export interface Api {
  /** Duration of the activation, in milliseconds. */
  readonly activationMilliseconds: number
}

export function activate(context: vscode.ExtensionContext): Api {
  const startedAt = performance.now()
  const extension = new Extension(context)
  extension.register()
  // A running server keeps an existing index up to date.
  void extension.startIfIndexed()
  const activationMilliseconds = performance.now() - startedAt
  log.info(`Activated in ${activationMilliseconds.toFixed(1)} ms`)
  return { activationMilliseconds }
}

/** Wait until the server has stopped. The context disposes everything else. */
export async function deactivate(): Promise<void> {
  await stopServer?.()
}

let stopServer: (() => Promise<void>) | undefined

/** The commands and the objects they share. */
class Extension {
  private readonly previews: Previews = new Previews((uri) => this.repositories.locate(uri))
  private readonly searches = new Searches()
  private readonly features = new LanguageFeatures()
  private readonly model = new EditorModel()
  private readonly secrets: Secrets
  private readonly server: Server
  private readonly repositories: Repositories
  private readonly status: Status
  private readonly view: ResultsView
  private readonly consent: Consent
  private readonly services: PickerServices
  private picker: Picker | undefined
  private last: PickerState | undefined
  private installing: Promise<boolean> | undefined

  constructor(private readonly context: vscode.ExtensionContext) {
    this.secrets = new Secrets(context)
    this.server = new Server(context, this.previews, this.secrets, this.model, this.features)
    this.repositories = new Repositories(this.server)
    this.consent = new Consent(this.server)
    const announcement = new Announcement(context.workspaceState, this.server)
    this.status = new Status(this.server, this.features, announcement)
    this.view = new ResultsView(this.searches, this.previews, ({ text }) =>
      this.search(text),
    )
    this.services = {
      context,
      server: this.server,
      previews: this.previews,
      searches: this.searches,
      consent: this.consent,
      searchesChanged: () => {
        this.view.refresh()
        void this.status.update()
      },
      showResults: (search, key) => this.view.show(search, key),
      boxChanged: () => setContext('winnow.isBoxOpen', this.picker?.isOpen ?? false),
      newPicker: () => this.newPicker(),
      installServer: () => this.installServer(),
      isInstalling: () => this.installing !== undefined,
    }
    stopServer = () => this.server.stop()
  }

  register(): void {
    this.context.subscriptions.push(
      this.previews,
      this.server,
      this.status,
      this.view,
      this.features,
      // Completes a step of the walkthrough, however the server got there.
      this.server.onDidChange(() => setContext('winnow.isServerRunning', this.server.isRunning)),
      ...this.commands(),
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, new Documents(this.server)),
      vscode.workspace.registerTextDocumentContentProvider(REPOSITORY_SCHEME, this.repositories),
      registerParticipant(this.context, this.server, this.model),
      new AgentTools(this.context, this.server, this.secrets),
      vscode.workspace.onDidChangeConfiguration((event) => void this.configurationChanged(event)),
      vscode.workspace.onDidGrantWorkspaceTrust(() => void this.restartIfRunning()),
    )
  }

  /** Start the server in the background if an earlier session left an index. */
  async startIfIndexed(): Promise<void> {
    for (const folder of vscode.workspace.workspaceFolders ?? []) {
      try {
        await vscode.workspace.fs.stat(vscode.Uri.joinPath(folder.uri, '.winnow'))
        await this.server.ensureStarted()
        return
      } catch (error) {
        // No index, or no server. The first search reports a missing server.
        log.debug(`Not started for ${folder.name}: ${messageOf(error)}`)
      }
    }
  }

  private commands(): vscode.Disposable[] {
    const command = (name: string, run: (...args: never[]) => unknown) =>
      vscode.commands.registerCommand(`winnow.${name}`, run)
    return [
      command('search', (text?: string) => this.search(text)),
      command('searchByTerms', (text?: string) => this.search(text).editTerms()),
      command('searchDocuments', () => this.search(`>docs ${selectedText()}`)),
      command('openToSide', () => this.picker?.openToSide()),
      command('resume', () => this.resume()),
      command('history', async () => {
        const text = await chooseFromHistory(this.context)
        if (text !== undefined) this.search(text)
      }),
      command('menu', () => this.status.menu()),
      command('restart', () => this.restart()),
      command('installServer', () => this.install()),
      command('showLog', () => log.show()),
      command('consent', () => this.reportErrors(() => this.consent.decide())),
      command('audit', () => this.reportErrors(() => this.consent.showAudit())),
      command('setKey', async () => {
        if (await this.secrets.editKey()) await this.restartIfRunning()
      }),
    ]
  }

  /** Open the box with a text. Without one, a box that is open stays as it is. */
  private search(text?: string): Picker {
    if (text === undefined && this.picker?.isOpen) return this.picker
    const picker = this.newPicker()
    picker.open(text ?? selectedText())
    // Start the server while the user types. The search reports errors.
    this.server.ensureStarted().catch((error: unknown) => log.info(messageOf(error)))
    return picker
  }

  private resume(): void {
    if (this.last) this.newPicker().resume(this.last)
    else this.search('')
  }

  private newPicker(): Picker {
    this.picker = new Picker(this.services, (state) => {
      this.last = state
    })
    return this.picker
  }

  private restart(): Promise<void> {
    return this.reportErrors(async () => {
      await this.server.restart()
      void vscode.window.setStatusBarMessage('Winnow: server restarted', 3_000)
    })
  }

  /** Run a task and show its error, if any. */
  private async reportErrors(task: () => Promise<unknown>): Promise<void> {
    try {
      await task()
    } catch (error) {
      if (error instanceof ServerMissing) await offerServer(error, () => this.installServer())
      else if (!(error instanceof StartFailed)) void vscode.window.showErrorMessage(`Winnow: ${messageOf(error)}`)
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

  private async install(): Promise<void> {
    if (await wantsServer(this.context)) await this.installServer()
  }

  /** Install and start the server. Return true if it runs. A call during an installation waits for it. */
  private installServer(packageName?: string): Promise<boolean> {
    this.installing ??= this.installAndStart(packageName).finally(() => {
      this.installing = undefined
    })
    return this.installing
  }

  private async installAndStart(packageName?: string): Promise<boolean> {
    try {
      if (!(await installServer(this.context, packageName))) return false
    } catch (error) {
      void this.offerOtherWays(error)
      return false
    }
    await this.restart()
    const version = this.server.program?.version
    if (version && this.server.isRunning) {
      void vscode.window.showInformationMessage(`Winnow ${version} is installed and running.`)
    }
    return this.server.isRunning
  }

  private async offerOtherWays(error: unknown): Promise<void> {
    const wheel = await offerOtherWays(this.context, error)
    if (wheel) await this.installServer(wheel)
  }
}

function setContext(key: string, isOn: boolean): void {
  void vscode.commands.executeCommand('setContext', key, isOn)
}

/** Return the selected text if it is within one line; the user probably wants to search for it. */
function selectedText(): string {
  const editor = vscode.window.activeTextEditor
  if (!editor || editor.selection.isEmpty || !editor.selection.isSingleLine) return ''
  return editor.document.getText(editor.selection).trim().slice(0, 200)
}
