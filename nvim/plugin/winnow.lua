-- Define the command, the mappings and the reader of documents. Modules are loaded on first use.

if vim.g.loaded_winnow then
  return
end
vim.g.loaded_winnow = true

vim.api.nvim_create_user_command('Winnow', function(command)
  require('winnow.command').run(command)
end, {
  bang = true,
  range = true,
  desc = 'Search with Winnow',
  nargs = '*',
  complete = function(...)
    return require('winnow.command').complete(...)
  end,
})

for _, mode in ipairs({ 'code', 'files', 'grep', 'symbols', 'semantic', 'keyword', 'docs' }) do
  vim.keymap.set('n', ('<Plug>(winnow-%s)'):format(mode), function()
    require('winnow').open(mode)
  end, { desc = 'Winnow: ' .. mode })
  vim.keymap.set('x', ('<Plug>(winnow-%s)'):format(mode), function()
    require('winnow').open(mode, require('winnow.command').selected_request(mode))
  end, { desc = ('Winnow: %s for the selection'):format(mode) })
end
for _, name in ipairs({ 'resume', 'history' }) do
  vim.keymap.set('n', ('<Plug>(winnow-%s)'):format(name), function()
    require('winnow')[name]()
  end, { desc = 'Winnow: ' .. name })
end

local group = vim.api.nvim_create_augroup('winnow', {})
vim.api.nvim_create_autocmd('BufReadCmd', {
  group = group,
  pattern = 'winnow-doc://*',
  desc = 'Read the text of a document',
  callback = function(event)
    require('winnow.document').read(event.buf, event.match)
  end,
})
vim.api.nvim_create_autocmd('BufReadCmd', {
  group = group,
  -- Pages such as `winnow://status` have other names.
  pattern = 'winnow://*@*:/*',
  desc = 'Read a file of the search cluster',
  callback = function(event)
    require('winnow.repository').read(event.buf, event.match)
  end,
})
vim.api.nvim_create_autocmd('LspAttach', {
  group = group,
  desc = 'Let the server see all open files of its folder',
  callback = function(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    if client and client.name == 'winnow' then
      require('winnow.client').prepare(client)
    end
  end,
})

-- Managers create help tags only for a folder `doc` at the top of a repository.
local source = assert(debug.getinfo(1, 'S')).source --[[@as string]]
local doc = vim.fs.abspath(vim.fs.joinpath(vim.fs.dirname(source:sub(2)), '../doc'))
if not vim.uv.fs_stat(vim.fs.joinpath(doc, 'tags')) then
  pcall(vim.cmd.helptags, doc)
end
