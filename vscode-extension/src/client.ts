import { type Executable, LanguageClient, type LanguageClientOptions } from 'vscode-languageclient/node'

import { ErrorOutput } from './core/error-output'
import { log, messageOf } from './log'

/** How long the rest of the output of a server that ended may take. */
const OUTPUT_MS = 1_000

/** The server ended before it was ready. The message gives the reason; the user has seen it. */
export class StartFailed extends Error {}

/** The library's client, without the library's notifications: they don't say why a server ended. */
export class ServerClient extends LanguageClient {
  private readonly errors: ErrorOutput

  constructor(
    executable: Executable,
    options: LanguageClientOptions,
    private readonly onStartFailed: (error: StartFailed) => void,
  ) {
    const errors = new ErrorOutput((line) => log.error(line))
    super('winnow', 'Winnow', executable, {
      ...options,
      stdioOptions: { stdout: () => undefined, stderr: (input) => errors.read(input) },
      initializationFailedHandler: () => false,
    })
    this.errors = errors
  }

  override error(message: string, data?: unknown): void {
    super.error(message, data, false)
  }

  /** Start the server. The library calls this, too, after the server exited. Throws StartFailed. */
  override async start(): Promise<void> {
    try {
      await super.start()
    } catch (error) {
      const failed = new StartFailed(await this.reason(error))
      this.onStartFailed(failed)
      throw failed
    }
  }

  private async reason(error: unknown): Promise<string> {
    const line = await this.errors.lastLine(OUTPUT_MS)
    if (line === undefined) return `The server did not start: ${messageOf(error)}`
    return `The server ended when it started: ${line || 'it gave no reason'}`
  }
}
