import * as os from 'node:os'
import * as vscode from 'vscode'
import {
  CloseAction,
  type CloseHandlerResult,
  ErrorAction,
  type ErrorHandler,
  LanguageClient,
  type LanguageClientOptions,
  ProgressType,
  ResponseError,
  RevealOutputChannelOn,
  State,
  type StaticFeature,
} from 'vscode-languageclient/node'

import { Backoff } from './core/backoff'
import { complete, indexStatus, type ServerRequest } from './core/protocol'
import type { EditorModel } from './editor-model'
import { withoutFeatures } from './language-features'
import { locate, type Program, programEnvironment } from './locator'
import { log, messageOf } from './log'
import type { Previews } from './previews'
import type { Secrets } from './secrets'
import { configurationForServer } from './settings'
import { traceChannel } from './trace'

const CANCELLED = -32800

/** The server and its life: started when it is first needed, started again when it ends. */
export class Server implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>()
  /** Something about the server has changed: it runs, it does not, another root. */
  readonly onDidChange = this.changed.event
  program: Program | undefined
  /** The folder that paths of streamed results are relative to. */
  root = ''
  private client: LanguageClient | undefined
  private starting: Promise<LanguageClient> | undefined
  private readonly backoff = new Backoff()
  private readonly traces = traceChannel()
  private tokens = 0
  private readonly folders: vscode.Disposable

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly previews: Previews,
    private readonly secrets: Secrets,
    private readonly model: EditorModel,
  ) {
    this.folders = vscode.workspace.onDidChangeWorkspaceFolders(() => {
      const { client } = this
      if (client?.state !== State.Running) return
      this.askRoot(client).catch((error) => log.info(`Could not get the workspace root: ${messageOf(error)}`))
    })
  }

  get isRunning(): boolean {
    return this.client?.state === State.Running
  }

  /**
   * The answer to a request; the server is started for it if need be.
   *
   * Throws CancellationError when cancelled, ServerMissing if there is no server, and an error with
   * the server's message for everything else.
   */
  async ask<P extends object, R, Partial>(
    request: ServerRequest<P, R, Partial>,
    params: P,
    token: vscode.CancellationToken,
    onPartial?: (value: Partial) => void,
  ): Promise<R> {
    const client = await this.started()
    if (token.isCancellationRequested) throw new vscode.CancellationError()
    const partialResultToken = `winnow-partial-${++this.tokens}`
    const listening = onPartial
      ? client.onProgress(new ProgressType<Partial>(), partialResultToken, onPartial)
      : undefined
    const sent = onPartial ? { ...params, partialResultToken } : params
    try {
      return await client.sendRequest<R>(request.method, sent, token)
    } catch (error) {
      const cancelled = error instanceof ResponseError && error.code === CANCELLED
      if (cancelled || token.isCancellationRequested) throw new vscode.CancellationError()
      throw error
    } finally {
      listening?.dispose()
    }
  }

  /** Starts the server unless it runs. Throws ServerMissing. */
  async started(): Promise<LanguageClient> {
    if (this.client?.state === State.Running) return this.client
    this.starting ??= this.start().finally(() => {
      this.starting = undefined
    })
    return this.starting
  }

  async restart(): Promise<void> {
    this.backoff.reset()
    await this.stop()
    await this.started()
  }

  async stop(): Promise<void> {
    await this.starting?.catch(() => undefined)
    const client = this.client
    this.client = undefined
    this.changed.fire()
    await client?.dispose().catch((error) => log.info(`The server did not stop: ${messageOf(error)}`))
  }

  /** Has the server ask for the settings again. */
  async settingsChanged(): Promise<void> {
    if (this.isRunning) {
      await this.client?.sendNotification('workspace/didChangeConfiguration', { settings: null })
    }
  }

  dispose(): void {
    void this.stop()
    this.folders.dispose()
    this.changed.dispose()
    this.traces.dispose()
  }

  private async start(): Promise<LanguageClient> {
    // One that ends and is started again by itself is the same client.
    if (this.client?.state === State.Starting) {
      await this.client.start()
      return this.client
    }
    await this.client?.dispose().catch(() => undefined)
    const began = Date.now()
    const program = await locate(this.context)
    this.program = program
    const command = [program.command, ...program.args].join(' ')
    log.info(`Starting Winnow ${program.version}: ${command} serve`)
    const client = await this.made(program)
    this.client = client
    client.onDidChangeState(() => this.changed.fire())
    await client.start()
    await this.askRoot(client)
    log.info(`The server started in ${Date.now() - began} ms`)
    this.changed.fire()
    return client
  }

  /** Only a whole answer says the root; folders may come and go. */
  private async askRoot(client: LanguageClient): Promise<void> {
    this.root = (await client.sendRequest<{ root: string }>(indexStatus.method, {})).root
  }

  private async made(program: Program): Promise<LanguageClient> {
    const client = new LanguageClient(
      'winnow',
      'Winnow',
      {
        command: program.command,
        args: [...program.args, 'serve'],
        options: {
          env: programEnvironment(await this.secrets.keys()),
          // Not the workspace: a program may take modules or settings from where it is started.
          cwd: os.homedir(),
        },
      },
      this.options(),
    )
    client.registerFeature(this.announcing())
    if (this.model.isEnabled) {
      client.onRequest(complete.method, (params, token) => this.model.answer(params, token))
    }
    return client
  }

  private options(): LanguageClientOptions {
    return {
      documentSelector: [{ scheme: 'file' }],
      outputChannel: log,
      traceOutputChannel: this.traces,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      errorHandler: this.errorHandler(),
      middleware: {
        didOpen: (document, next) => this.previews.opened(document, () => next(document)),
        didChange: (event, next) => this.previews.changed(event.document, () => next(event)),
        didClose: async (document, next) => {
          if (this.previews.closed(document)) await next(document)
        },
        workspace: {
          configuration: (params) =>
            params.items.map(({ section }) =>
              section === 'winnow' ? configurationForServer(this.context.extension) : null,
            ),
        },
      },
    }
  }

  /** Tells the server what this client can do, and leaves out language features that are off. */
  private announcing(): StaticFeature {
    return {
      fillClientCapabilities: (capabilities) => {
        const requests = this.model.isEnabled ? [complete.method] : []
        capabilities.experimental = { ...capabilities.experimental, winnow: { requests } }
      },
      preInitialize: (capabilities) => withoutFeatures(capabilities),
      initialize: () => undefined,
      getState: () => ({ kind: 'static' }),
      clear: () => undefined,
    }
  }

  private errorHandler(): ErrorHandler {
    return {
      error: () => ({ action: ErrorAction.Continue }),
      closed: () => this.closed(),
    }
  }

  private async closed(): Promise<CloseHandlerResult> {
    const ended = this.client
    const delay = this.backoff.next()
    this.changed.fire()
    if (delay === undefined) {
      log.error('The server exited too often; not restarting it')
      void this.offerRestart()
      return { action: CloseAction.DoNotRestart, handled: true }
    }
    log.warn(`The server exited; restarting it in ${delay / 1000} s`)
    await new Promise((resolve) => setTimeout(resolve, delay))
    // Meanwhile somebody has searched, and with that started another, or has stopped it.
    const action = this.client === ended ? CloseAction.Restart : CloseAction.DoNotRestart
    return { action, handled: true }
  }

  private async offerRestart(): Promise<void> {
    const restart = 'Restart'
    const chosen = await vscode.window.showErrorMessage(
      'Winnow: the server exited five times within three minutes.',
      restart,
      'Show Log',
    )
    if (chosen === restart) await vscode.commands.executeCommand('winnow.restart')
    else if (chosen) log.show()
  }
}
