-- What tests share: a project on disk, the real server, waiting, and comparing.

local M = {}

-- A server that starts beside other work takes its time.
local WAIT_MS = 30000

M.plugin = vim.fs.dirname(vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, 'S').source:sub(2))))

---How the server under test is started; `WINNOW_COMMAND` says so, in words.
M.command = vim.split(vim.env.WINNOW_COMMAND or 'winnow serve', ' ', { trimempty = true })

M.FILES = {
  ['src/loader.py'] = table.concat({
    'class Loader:',
    '    def load_plugins(self, names):',
    '        return [self.load_plugin(name) for name in names]',
    '',
    '    def load_plugin(self, name):',
    '        return registry[name]  # žluťoučký kůň: plugin_späť',
    '',
  }, '\n'),
  ['src/registry.py'] = table.concat({
    'registry = {}',
    '',
    'def register_plugin(name, plugin):',
    '    registry[name] = plugin',
    '',
  }, '\n'),
  ['src/main.py'] = "from loader import Loader\n\nLoader().load_plugins(['a'])\n",
  ['docs/plugins.md'] = '# Plugins\n\nCall `register_plugin` to add one.\n',
  ['ignored/cache.py'] = 'load_plugin_from_cache = 1\n',
  ['.gitignore'] = 'ignored/\n.winnow/\n',
}

local made = {}
local originals = {}

function M.write(path, text)
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local file = assert(io.open(path, 'wb'))
  file:write(text)
  file:close()
end

---A project of its own, in which the test stands.
---@param files? table<string, string>
---@return string
function M.project(files)
  local folder = assert(vim.uv.fs_realpath(vim.fn.fnamemodify(vim.fn.tempname(), ':h')))
  folder = vim.fs.joinpath(folder, 'project-' .. #made)
  made[#made + 1] = folder
  for name, text in pairs(files or M.FILES) do
    M.write(vim.fs.joinpath(folder, name), text)
  end
  vim.fn.mkdir(folder .. '/.git', 'p')
  M.write(folder .. '/.git/HEAD', 'ref: refs/heads/main\n')
  vim.cmd.cd(folder)
  return folder
end

local shared

---The same project for tests that change nothing in it: its server need not start again.
---@return string
function M.shared_project()
  if not shared then
    shared = M.project()
  end
  vim.cmd.cd(shared)
  return shared
end

---Have the plugin as after a start of Neovim, with the server under test.
---@param options? table for setup()
---@param config? table for vim.lsp.config
function M.setup(options, config)
  vim.g.loaded_winnow = nil
  vim.cmd.runtime('plugin/winnow.lua')
  -- An assignment: of the configuration of the test before nothing stays.
  vim.lsp.config.winnow = vim.tbl_extend('force', {
    cmd = M.command,
    settings = { winnow = { index = { enabled = false } } },
  }, config or {})
  require('winnow').setup(options)
end

---Wait until something is so.
---@param what string
---@param condition fun(): any
function M.wait(what, condition)
  local result
  local ok = vim.wait(WAIT_MS, function()
    result = condition()
    return result and true or false
  end, 2)
  assert(ok, 'waited in vain: ' .. what)
  return result
end

---@param expected any
---@param actual any
---@param about? string
function M.equal(expected, actual, about)
  if not vim.deep_equal(expected, actual) then
    error(
      ('%s\nexpected: %s\nactual:   %s'):format(
        about or 'not equal',
        vim.inspect(expected),
        vim.inspect(actual)
      ),
      2
    )
  end
end

---@param text string
---@param part string
function M.contains(text, part)
  if not tostring(text):find(part, 1, true) then
    error(('%q is not in:\n%s'):format(part, text), 2)
  end
end

---The error of a call that has to fail.
---@param call fun()
---@return string
function M.error_of(call)
  local ok, problem = pcall(call)
  assert(not ok, 'it did not fail')
  return tostring(problem)
end

---@param why string
function M.skip(why)
  error({ skipped = why }, 0)
end

---Put something else in a function's place until the test ends.
---@param holder table
---@param name string
---@param value any
function M.replace(holder, name, value)
  originals[#originals + 1] = { holder, name, holder[name] }
  holder[name] = value
end

---What is notified, instead of shown.
---@return { [1]: string, [2]: integer? }[]
function M.notified()
  local said = {}
  M.replace(vim, 'notify', function(message, level)
    said[#said + 1] = { message, level }
  end)
  return said
end

---The picker, when its search has ended.
---@return winnow.Picker
function M.finished_picker()
  return M.wait('the search of the picker', function()
    local picker = require('winnow.picker').get()
    return picker and picker.running and not picker.running.busy and not picker.due and picker
  end)
end

---@param picker winnow.Picker
---@return string[]
function M.listed(picker)
  M.wait('the list to be drawn', function()
    return not picker.due
  end)
  return vim.api.nvim_buf_get_lines(picker.windows.list_buf, 0, -1, false)
end

---Press keys, and let Neovim take them.
---@param keys string
function M.press(keys)
  vim.api.nvim_feedkeys(vim.keycode(keys), 'xt', false)
end

---Have a preview in 80 columns. Neovim 0.11.4 fails an assertion when it draws after 'columns' was
---changed where there is no screen.
function M.with_preview()
  M.replace(require('winnow.picker.windows'), 'preview_columns', 60)
end

---The paths of items.
---@param items winnow.Item[]
---@return string[]
function M.paths(items)
  return vim.tbl_map(function(item)
    return item.path
  end, items)
end

---Leave nothing to the next test but running servers of the shared project.
function M.clean_up()
  for at = #originals, 1, -1 do
    local holder, name, value = unpack(originals[at])
    holder[name] = value
  end
  originals = {}
  local picker = package.loaded['winnow.picker']
  if picker and picker.get() then
    picker.get():close()
  end
  vim.cmd('silent! only | silent! tabonly')
  vim.fn.setqflist({}, 'f')
  vim.cmd.enew()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if buf ~= vim.api.nvim_get_current_buf() then
      pcall(vim.api.nvim_buf_delete, buf, { force = true })
    end
  end
end

---End the servers and wait until they are gone, so that nothing writes where things are deleted.
function M.stop_servers()
  for _, client in ipairs(vim.lsp.get_clients({ name = 'winnow' })) do
    client:stop()
  end
  vim.wait(5000, function()
    return #vim.lsp.get_clients({ name = 'winnow' }) == 0
  end, 10)
  for _, client in ipairs(vim.lsp.get_clients({ name = 'winnow' })) do
    client:stop(true)
  end
  for _, folder in ipairs(made) do
    vim.fn.delete(folder, 'rf')
  end
end

return M
