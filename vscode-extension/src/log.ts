import * as vscode from 'vscode'

/** The channel "Winnow": what is done in the background, and why something does not work. */
export const log = vscode.window.createOutputChannel('Winnow', { log: true })

/** An error in one line, for a person. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
