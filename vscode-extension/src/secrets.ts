import * as vscode from 'vscode'

/** Environment variables with the keys of the built-in models; see docs/settings.md. */
const BUILT_IN_KEYS = ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'FIREWORKS_API_KEY']
const NAMES_KEY = 'winnow.keyNames'
const PREFIX = 'winnow.key.'

/** Keys of language models, stored in the editor's SecretStorage and passed only to the server. */
export class Secrets {
  constructor(private readonly context: vscode.ExtensionContext) {}

  /** Return all stored keys by environment variable. */
  async keys(): Promise<Record<string, string>> {
    const keys: Record<string, string> = {}
    for (const name of this.names()) {
      const key = await this.context.secrets.get(PREFIX + name)
      if (key) keys[name] = key
    }
    return keys
  }

  /** Ask the user for a key and store it, or delete it if empty. Return true if a key changed. */
  async editKey(): Promise<boolean> {
    const name = await this.chooseName()
    if (!name) return false
    const key = await vscode.window.showInputBox({
      title: `Winnow: ${name}`,
      prompt: 'VS Code stores the key in the keychain of this machine. Leave empty to delete it.',
      password: true,
      ignoreFocusOut: true,
    })
    if (key === undefined) return false
    const names = this.names().filter((stored) => stored !== name)
    if (key.trim()) {
      await this.context.secrets.store(PREFIX + name, key.trim())
      names.push(name)
    } else {
      await this.context.secrets.delete(PREFIX + name)
    }
    await this.context.globalState.update(NAMES_KEY, names)
    return true
  }

  private names(): string[] {
    return this.context.globalState.get<string[]>(NAMES_KEY, [])
  }

  private async chooseName(): Promise<string | undefined> {
    const configured = vscode.workspace
      .getConfiguration('winnow')
      .get<Record<string, { key_env?: string } | null>>('llm.models', {})
    const configuredNames = Object.values(configured).map((model) => model?.key_env ?? '')
    const stored = new Set(this.names())
    const items = [...new Set([...configuredNames, ...BUILT_IN_KEYS, ...stored])].filter(Boolean).map((name) => ({
      label: name,
      description: stored.has(name) ? 'stored' : process.env[name] ? 'in the environment' : '',
    }))
    const chosen = await vscode.window.showQuickPick(items, {
      title: 'Winnow: set the key for which model?',
      placeHolder: 'Choose the environment variable that holds the key',
    })
    return chosen?.label
  }
}
