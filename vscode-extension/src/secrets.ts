import * as vscode from 'vscode'

/** The keys that the models which are built in look for, see docs/settings.md. */
const KNOWN = ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'FIREWORKS_API_KEY']
const NAMES = 'winnow.keyNames'
const PREFIX = 'winnow.key.'

/** Keys of language models: in the editor's SecretStorage, and in the server's environment only. */
export class Secrets {
  constructor(private readonly context: vscode.ExtensionContext) {}

  /** All stored keys, by the environment variable that they are for. */
  async keys(): Promise<Record<string, string>> {
    const found: Record<string, string> = {}
    for (const name of this.names()) {
      const key = await this.context.secrets.get(PREFIX + name)
      if (key) found[name] = key
    }
    return found
  }

  /** Asks for a key and stores it; an empty one is deleted. Whether something has changed. */
  async change(): Promise<boolean> {
    const name = await this.chosenName()
    if (!name) return false
    const key = await vscode.window.showInputBox({
      title: `Winnow: ${name}`,
      prompt: 'VS Code stores the key in the keychain of this machine. Leave empty to delete it.',
      password: true,
      ignoreFocusOut: true,
    })
    if (key === undefined) return false
    const names = this.names().filter((one) => one !== name)
    if (key.trim()) {
      await this.context.secrets.store(PREFIX + name, key.trim())
      names.push(name)
    } else {
      await this.context.secrets.delete(PREFIX + name)
    }
    await this.context.globalState.update(NAMES, names)
    return true
  }

  private names(): string[] {
    return this.context.globalState.get<string[]>(NAMES, [])
  }

  private async chosenName(): Promise<string | undefined> {
    const configured = vscode.workspace
      .getConfiguration('winnow')
      .get<Record<string, { key_env?: string } | null>>('llm.models', {})
    const wanted = Object.values(configured).map((model) => model?.key_env ?? '')
    const stored = new Set(this.names())
    const items = [...new Set([...wanted, ...KNOWN, ...stored])].filter(Boolean).map((name) => ({
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
