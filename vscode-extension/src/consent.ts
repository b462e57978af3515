import * as vscode from 'vscode'

import { auditText } from './core/audit'
import { audit, consent } from './core/protocol'
import type { Server } from './server'

const NONE = new vscode.CancellationTokenSource().token
const STATES = {
  always: 'allowed for every workspace',
  given: 'allowed for this workspace',
  needed: 'not decided',
  refused: 'refused for this workspace',
}

/** The consent to send code to remote models, and the log of sent requests. */
export class Consent {
  constructor(private readonly server: Server) {}

  /** Return the model that would rank a search now, and true if one needs consent first. */
  async model(): Promise<{ name: string | undefined; isConsentNeeded: boolean }> {
    const { models, destinations } = await this.server.request(consent, {}, NONE)
    return { name: models[0], isConsentNeeded: destinations.some(({ state }) => state === 'needed') }
  }

  /** Ask the user for consent. Return true if they allowed remote models. */
  async decide(): Promise<boolean> {
    const { destinations } = await this.server.request(consent, {}, NONE)
    if (!destinations.length) {
      void vscode.window.showInformationMessage(
        'Winnow: no remote language model is configured. Set its key first.',
      )
      return false
    }
    const names = destinations.map(({ destination }) => destination)
    const send = async (action: 'give' | 'refuse' | 'withdraw') => {
      await this.server.request(consent, { action, ...(action === 'give' ? { destinations: names } : {}) }, NONE)
      return action === 'give'
    }
    const items = [
      { label: '$(check) Allow for this workspace', run: () => send('give') },
      { label: '$(check-all) Allow for every workspace', run: () => this.allowEverywhere() },
      { label: '$(circle-slash) Not for this workspace', run: () => send('refuse') },
    ]
    if (destinations.some(({ state }) => state === 'given' || state === 'refused')) {
      items.push({ label: '$(discard) Withdraw the decision', run: () => send('withdraw') })
    }
    const current = destinations
      .map(({ destination, state }) => `${destination} (${STATES[state]})`)
      .join(', ')
    const chosen = await vscode.window.showQuickPick(items, {
      title: `Winnow: send matching lines to ${current}?`,
      placeHolder: 'Matching lines and their context, with secrets masked',
    })
    return chosen ? chosen.run() : false
  }

  /** Show the last requests to language models. */
  async showAudit(): Promise<void> {
    const content = auditText(await this.server.request(audit, { limit: 200 }, NONE))
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ content }))
  }

  private async allowEverywhere(): Promise<boolean> {
    const target = vscode.ConfigurationTarget.Global
    await vscode.workspace.getConfiguration('winnow').update('llm.consent', 'always', target)
    await this.server.settingsChanged()
    return true
  }
}
