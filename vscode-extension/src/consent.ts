import * as vscode from 'vscode'

import { auditText } from './core/audit'
import { audit, consent } from './core/protocol'
import type { Server } from './server'

const NONE = new vscode.CancellationTokenSource().token
const STATES = {
  always: 'allowed for every workspace',
  given: 'allowed for this workspace',
  needed: 'not decided',
  refused: 'not for this workspace',
}

/** Whether code of the workspace may be sent to models on other machines, and what was sent. */
export class Consent {
  constructor(private readonly server: Server) {}

  /** Has somebody decide; whether models may be asked from now on. */
  async decide(): Promise<boolean> {
    const { destinations } = await this.server.ask(consent, {}, NONE)
    if (!destinations.length) {
      void vscode.window.showInformationMessage(
        'Winnow: no remote language model is configured. Set its key first.',
      )
      return false
    }
    const names = destinations.map((one) => one.destination)
    const tell = async (action: 'give' | 'refuse' | 'withdraw') => {
      await this.server.ask(consent, { action, ...(action === 'give' ? { destinations: names } : {}) }, NONE)
      return action === 'give'
    }
    const items = [
      { label: '$(check) Allow for this workspace', run: () => tell('give') },
      { label: '$(check-all) Allow for every workspace', run: () => this.always() },
      { label: '$(circle-slash) Not for this workspace', run: () => tell('refuse') },
    ]
    if (destinations.some((one) => one.state === 'given' || one.state === 'refused')) {
      items.push({ label: '$(discard) Withdraw the decision', run: () => tell('withdraw') })
    }
    const now = destinations.map((one) => `${one.destination} (${STATES[one.state]})`).join(', ')
    const chosen = await vscode.window.showQuickPick(items, {
      title: `Winnow: send matching lines to ${now}?`,
      placeHolder: 'Matching lines and their context, with secrets masked',
    })
    return chosen ? chosen.run() : false
  }

  /** Shows what left this machine. */
  async showAudit(): Promise<void> {
    const content = auditText(await this.server.ask(audit, { limit: 200 }, NONE))
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ content }))
  }

  private async always(): Promise<boolean> {
    const target = vscode.ConfigurationTarget.Global
    await vscode.workspace.getConfiguration('winnow').update('llm.consent', 'always', target)
    await this.server.settingsChanged()
    return true
  }
}
