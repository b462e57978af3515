// The chat participant @winnow in the editor's chat, with a model of the probe.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import * as path from 'node:path'
import { after, before, test } from 'node:test'

import { startEditor, until, withEditor, workspace } from './harness.mjs'

const QUESTION = 'where are expired sessions deleted'
let editor
let folder

before(async () => {
  folder = workspace(['django/contrib/sessions'])
  const settings = {
    'winnow.editorModel.enabled': true,
    // The chat's model answers, whatever this selects for the search box.
    'winnow.editorModel.selector': { vendor: 'nobody' },
    'winnow.index.enabled': false,
  }
  editor = await startEditor({ folder, settings })
  await editor.page.setViewportSize({ width: 1300, height: 1000 })
})

after(() => editor?.close())

/** Ask @winnow and return the answer when it is complete. */
async function ask(question, asked = editor) {
  const options = { mode: 'ask', modelSelector: { vendor: 'probe' }, query: `@winnow ${question}` }
  await asked.probe('command', { id: 'workbench.action.chat.open', args: [options] })
  const request = asked.page.locator('.interactive-request', { hasText: question })
  await request.waitFor()
  const answer = asked.page.locator('.chat-most-recent-response:not(.chat-response-loading)')
  await answer.locator('.monaco-button', { hasText: 'Show in the Search Box' }).waitFor()
  return answer
}

test('an answer lists places with links, their code, and what the model says', async () => {
  const answer = await ask(QUESTION)
  const text = await answer.innerText()
  assert.match(text, /The first 5 of \d+ results(?:, no index)?:/)
  assert.match(text, /Probe Ranker chose:[^]*chosen by the model of the editor/)
  const items = answer.locator('ol > li')
  assert.equal(await items.count(), 5)
  assert.match(await items.first().innerText(), /def clear_expired\(cls\):[^]*defines clear_expired/)
  // The places are those of the search box.
  const places = (await items.allInnerTexts()).map((item) => /([\w.]+):(\d+)/.exec(item)[0])
  await editor.question(QUESTION)
  const rows = await editor.rowTexts()
  places.forEach((place, index) => assert.ok(rows[index].startsWith(place), `${place}: ${rows[index]}`))
  await editor.page.keyboard.press('Escape')
  // A link leads to the line. The last one is in sight.
  const [name, line] = places.at(-1).split(':')
  await items.last().locator('.chat-inline-anchor-widget').click()
  await editor.page.locator('.tab.active', { hasText: name }).waitFor()
  await until(async () => (await editor.position.innerText()).startsWith(`Ln ${line},`), `line ${line}`)
})

test('what the model got is in the list of what left this machine', async () => {
  const prompt = readFileSync(path.join(editor.data, 'prompt.txt'), 'utf-8')
  assert.match(prompt, new RegExp(QUESTION))
  // Beside the chat, the line would be cut.
  await editor.probe('command', { id: 'workbench.action.closeAuxiliaryBar' })
  await editor.page.locator('.part.auxiliarybar').waitFor({ state: 'hidden' })
  await editor.menu('Show what left this machine')
  await editor.sees(editor.page.locator('.editor-group-container.active .view-lines'), /editor at editor: [\d,]+ bytes/)
})

test('without an answer of the model, the list stays', async () => {
  writeFileSync(path.join(editor.data, 'model-fails'), '')
  const answer = await ask('how is a session key created')
  assert.equal(await answer.locator('ol > li').count(), 5)
  assert.match(await answer.innerText(), /Probe Ranker didn’t answer/)
  assert.match(editor.log(), /No answer of Probe Ranker in the chat: .*the model is out of order/)
})

test('a name needs no model', async () => {
  const answer = await ask('SessionStore')
  assert.doesNotMatch(await answer.innerText(), /Probe Ranker/)
})

test('the model gets nothing unless the setting allows it', async () => {
  await withEditor({ folder, settings: { 'winnow.index.enabled': false } }, async (unasked) => {
    const answer = await ask(QUESTION, unasked)
    assert.equal(await answer.locator('ol > li').count(), 5)
    assert.match(await answer.innerText(), /Let this chat’s model choose/)
    await unasked.page.setViewportSize({ width: 800, height: 880 })
    await unasked.probe('command', { id: 'workbench.action.maximizeAuxiliaryBar' })
    const list = unasked.page.locator('.interactive-list')
    await until(async () => (await list.boundingBox()).width > 400, 'a wide chat')
    await list.hover()
    await unasked.page.mouse.wheel(0, -5_000)
    await unasked.sees(answer.locator('ol > li').first(), /def clear_expired/)
    await unasked.page.mouse.move(5, 5)
    await unasked.screenshot('chat', await list.boundingBox())
    assert.ok(!existsSync(path.join(unasked.data, 'prompt.txt')))
  })
})
