import * as vscode from 'vscode'
import {
  CloseAction,
  type CloseHandlerResult,
  ErrorAction,
  type ErrorHandler,
  type LanguageClientOptions,
  type Middleware,
  ProgressType,
  ResponseError,
  RevealOutputChannelOn,
  State,
  type StaticFeature,
} from 'vscode-languageclient/node'

import { ServerClient, StartFailed } from './client'
import { Backoff } from './core/backoff'
import { complete, indexStatus, type ServerRequest } from './core/protocol'
import type { EditorModel } from './editor-model'
import { type LanguageFeatures, withoutFeatures } from './language-features'
import { locate, type Program, programOptions } from './locator'
import { log, messageOf } from './log'
import type { Previews } from './previews'
import type { Secrets } from './secrets'
import { configurationForServer } from './settings'
import { traceChannel } from './trace'

const CANCELLED = -32800
/** What the client library says about a request whose server has exited. */
const LOST = /connection (?:is|got) (?:disposed|closed)|client is not running/i
/** How long a request waits for the restart of a server that exited, and how often it tries. */
const LOST_MS = 8_000
const RETRY_MS = 250
/** The title of the server's progress of indexing. */
const INDEXING = 'Indexing'

/** The client of the server, which starts on first use and restarts if it exits. */
export class Server implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>()
  /** Fires when the server starts or stops, or its root changes. */
  readonly onDidChange = this.changed.event
  program: Program | undefined
  /** The root of paths in streamed results. */
  root = ''
  private client: ServerClient | undefined
  private starting: Promise<ServerClient> | undefined
  private readonly backoff = new Backoff()
  private readonly traces = traceChannel()
  private lastToken = 0
  private isOffering = false
  private readonly folderListener: vscode.Disposable

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly previews: Previews,
    private readonly secrets: Secrets,
    private readonly model: EditorModel,
    private readonly features: LanguageFeatures,
  ) {
    this.folderListener = vscode.workspace.onDidChangeWorkspaceFolders(() => {
      const { client } = this
      if (client?.state !== State.Running) return
      this.updateRoot(client).catch((error) => log.info(`Could not get the workspace root: ${messageOf(error)}`))
    })
  }

  get isRunning(): boolean {
    return this.client?.state === State.Running
  }

  get isStarting(): boolean {
    return this.client?.state === State.Starting
  }

  /** Return what a search does now, in words for the user. */
  get activity(): string {
    return this.isRunning ? 'Searching' : 'Starting the server'
  }

  /**
   * Send a request and return its result. Start the server if necessary.
   *
   * If the server exits meanwhile, the request is sent again to the next one. Throws
   * CancellationError if canceled, ServerMissing if there is no server, StartFailed if it ends at
   * once, and otherwise an error with the server's message.
   */
  async request<P extends object, R, Partial>(
    request: ServerRequest<P, R, Partial>,
    params: P,
    token: vscode.CancellationToken,
    onPartial?: (value: Partial) => void,
  ): Promise<R> {
    const until = Date.now() + LOST_MS
    for (;;) {
      try {
        return await this.requestOnce(request, params, token, onPartial)
      } catch (error) {
        if (error instanceof StartFailed || !LOST.test(messageOf(error))) throw error
        if (token.isCancellationRequested) throw new vscode.CancellationError()
        if (Date.now() > until) throw new Error('The server has stopped. The log says why.')
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    }
  }

  private async requestOnce<P extends object, R, Partial>(
    request: ServerRequest<P, R, Partial>,
    params: P,
    token: vscode.CancellationToken,
    onPartial?: (value: Partial) => void,
  ): Promise<R> {
    const client = await this.ensureStarted()
    if (token.isCancellationRequested) throw new vscode.CancellationError()
    const partialResultToken = `winnow-partial-${++this.lastToken}`
    const listener = onPartial
      ? client.onProgress(new ProgressType<Partial>(), partialResultToken, onPartial)
      : undefined
    const paramsToSend = onPartial ? { ...params, partialResultToken } : params
    try {
      return await client.sendRequest<R>(request.method, paramsToSend, token)
    } catch (error) {
      const cancelled = error instanceof ResponseError && error.code === CANCELLED
      if (cancelled || token.isCancellationRequested) throw new vscode.CancellationError()
      throw error
    } finally {
      listener?.dispose()
    }
  }

  /** Start the server unless it is running. Throws ServerMissing and StartFailed. */
  async ensureStarted(): Promise<ServerClient> {
    if (this.client?.state === State.Running) return this.client
    this.starting ??= this.start().finally(() => {
      this.starting = undefined
    })
    return this.starting
  }

  async restart(): Promise<void> {
    this.backoff.reset()
    await this.stop()
    await this.ensureStarted()
  }

  async stop(): Promise<void> {
    await this.starting?.catch(() => undefined)
    const client = this.client
    this.client = undefined
    this.changed.fire()
    await client?.dispose().catch((error) => log.info(`The server did not stop: ${messageOf(error)}`))
  }

  /** Send the settings to the server. They apply to all requests that follow. */
  async settingsChanged(): Promise<void> {
    if (this.isRunning) {
      const settings = { winnow: configurationForServer(this.context.extension) }
      await this.client?.sendNotification('workspace/didChangeConfiguration', { settings })
    }
  }

  dispose(): void {
    void this.stop()
    this.folderListener.dispose()
    this.changed.dispose()
    this.traces.dispose()
  }

  private async start(): Promise<ServerClient> {
    // The client is restarting a server that exited.
    if (this.client?.state === State.Starting) {
      await this.client.start()
      return this.client
    }
    await this.client?.dispose().catch(() => undefined)
    const startedAt = Date.now()
    const program = await locate(this.context)
    this.program = program
    const command = [program.command, ...program.args].join(' ')
    log.info(`Starting Winnow ${program.version}: ${command} serve`)
    const client = await this.createClient(program)
    this.client = client
    client.onDidChangeState(() => this.changed.fire())
    await client.start()
    await this.updateRoot(client)
    log.info(`The server started in ${Date.now() - startedAt} ms`)
    this.changed.fire()
    return client
  }

  /** Request the root, which partial results lack. It can change with the workspace's folders. */
  private async updateRoot(client: ServerClient): Promise<void> {
    this.root = (await client.sendRequest<{ root: string }>(indexStatus.method, {})).root
  }

  private async createClient(program: Program): Promise<ServerClient> {
    const client = new ServerClient(
      {
        command: program.command,
        args: [...program.args, 'serve'],
        options: programOptions(await this.secrets.keys()),
      },
      this.options(),
      ({ message }) => void this.offerRestart(message, 'Try Again'),
    )
    client.registerFeature(this.capabilityFeature())
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
        ...this.features.middleware,
        didOpen: (document, next) => this.previews.didOpen(document, () => next(document)),
        didChange: (event, next) => this.previews.didChange(event.document, () => next(event)),
        didClose: (document, next) => this.previews.didClose(document, () => next(document)),
        handleWorkDoneProgress: withoutIndexing(),
        workspace: {
          configuration: (params) =>
            params.items.map(({ section }) =>
              section === 'winnow' ? configurationForServer(this.context.extension) : null,
            ),
        },
      },
    }
  }

  /** Return a feature that announces the editor's model and removes disabled language features. */
  private capabilityFeature(): StaticFeature {
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
      closed: () => this.onClosed(),
    }
  }

  private async onClosed(): Promise<CloseHandlerResult> {
    const exitedClient = this.client
    // `ServerClient.start` reports a server that ends before it is ready: another start would end, too.
    if (exitedClient?.state !== State.Running) return { action: CloseAction.DoNotRestart, handled: true }
    const delay = this.backoff.nextDelay()
    this.changed.fire()
    if (delay === undefined) {
      log.error('The server exited too often; not restarting it')
      void this.offerRestart('the server exited five times within three minutes.', 'Restart')
      return { action: CloseAction.DoNotRestart, handled: true }
    }
    log.warn(`The server exited; restarting it in ${delay / 1000} s`)
    await new Promise((resolve) => setTimeout(resolve, delay))
    // During the delay, a search may have started another client, or the user may have stopped it.
    const action = this.client === exitedClient ? CloseAction.Restart : CloseAction.DoNotRestart
    return { action, handled: true }
  }

  /** Show why the server doesn't run, unless the user hasn't answered an earlier message. */
  private async offerRestart(reason: string, restart: string): Promise<void> {
    if (this.isOffering) return
    this.isOffering = true
    const chosen = await vscode.window.showErrorMessage(`Winnow: ${reason}`, restart, 'Show Log')
    this.isOffering = false
    if (chosen === restart) await vscode.commands.executeCommand('winnow.restart')
    else if (chosen) log.show()
  }
}

/** Return middleware that hides the progress of indexing: the status item shows it. */
function withoutIndexing(): NonNullable<Middleware['handleWorkDoneProgress']> {
  const hidden = new Set<string | number>()
  return (token, progress, next) => {
    if (progress.kind === 'begin' && progress.title === INDEXING) hidden.add(token)
    if (!hidden.has(token)) next(token, progress)
    else if (progress.kind === 'end') hidden.delete(token)
  }
}
