import * as vscode from 'vscode'

/** The output channel "Winnow", for background activity and errors. */
export const log = vscode.window.createOutputChannel('Winnow', { log: true })

/** Return the message of an error, to show to the user. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
