-- Helpers for tests: a project on disk, the real server, waits, comparisons and the screen.

local M = {}

-- The timeout of all waits. A server starts slowly on a busy machine.
local WAIT_MS = 60000

M.plugin = vim.fs.dirname(vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, 'S').source:sub(2))))

---The command of the server under test, from `WINNOW_COMMAND`, split at spaces.
---@type string[]
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

local screen = { columns = vim.o.columns, lines = vim.o.lines }
local projects = {}
---@type table<string, string>
local shared = {}
local originals = {}
---@type (fun())[]
local endings = {}

function M.write(path, text)
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local file = assert(io.open(path, 'wb'))
  file:write(text)
  file:close()
end

---Create a project and change the working folder to it.
---@param files? table<string, string>
---@return string
function M.project(files)
  local folder = assert(vim.uv.fs_realpath(vim.fn.fnamemodify(vim.fn.tempname(), ':h')))
  folder = vim.fs.joinpath(folder, 'project-' .. #projects)
  projects[#projects + 1] = folder
  for name, text in pairs(files or M.FILES) do
    M.write(vim.fs.joinpath(folder, name), text)
  end
  vim.fn.mkdir(folder .. '/.git', 'p')
  M.write(folder .. '/.git/HEAD', 'ref: refs/heads/main\n')
  vim.cmd.cd(folder)
  return folder
end

---Return a project shared by all tests that use its name, so that its server starts only once.
---Tests must not change its files.
---@param name? string
---@param files? table<string, string>
---@return string
function M.shared_project(name, files)
  name = name or ''
  if not shared[name] then
    shared[name] = M.project(files)
  end
  vim.cmd.cd(shared[name])
  return shared[name]
end

---Load the plugin as if Neovim had just started, with the server under test.
---@param options? table for setup()
---@param config? table for vim.lsp.config
function M.setup(options, config)
  vim.g.loaded_winnow = nil
  vim.cmd.runtime('plugin/winnow.lua')
  -- Assign instead of calling it, so that nothing remains of the previous test's configuration.
  vim.lsp.config.winnow = vim.tbl_extend('force', {
    cmd = M.command,
    -- Without learning, files opened by one test don't affect the order in another.
    settings = { winnow = { index = { enabled = false }, learning = { enabled = false } } },
  }, config or {})
  require('winnow').setup(options)
end

---Wait until a condition returns a true value, and return that value.
---@param description string
---@param condition fun(): any
function M.wait(description, condition)
  local result
  local ok = vim.wait(WAIT_MS, function()
    result = condition()
    return result and true or false
  end, 2)
  assert(ok, 'timed out waiting for ' .. description)
  return result
end

---@param expected any
---@param actual any
---@param message? string
function M.equal(expected, actual, message)
  if not vim.deep_equal(expected, actual) then
    error(
      ('%s\nexpected: %s\nactual:   %s'):format(
        message or 'not equal',
        vim.inspect(expected),
        vim.inspect(actual)
      ),
      2
    )
  end
end

---Call a function at the end of the test.
---@param finish fun()
function M.at_end(finish)
  endings[#endings + 1] = finish
end

---@param text string
---@param part string
function M.contains(text, part)
  if not tostring(text):find(part, 1, true) then
    error(('%q is not in:\n%s'):format(part, text), 2)
  end
end

---Return the columns of a row, without the spaces between them.
---@param row string
---@return string[]
function M.columns(row)
  return vim.split(vim.trim(row), '  +', { trimempty = true })
end

---Return the error of a call that must fail.
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

---Replace a value in a table until the test ends.
---@param holder table
---@param name string
---@param value any
function M.replace(holder, name, value)
  originals[#originals + 1] = { holder, name, holder[name] }
  holder[name] = value
end

---Capture notifications instead of showing them.
---@return { [1]: string, [2]: integer? }[]
function M.notified()
  local messages = {}
  M.replace(vim, 'notify', function(message, level)
    messages[#messages + 1] = { message, level }
  end)
  -- Insert mode, which delays messages, can't end while a test runs.
  M.replace(require('winnow.message'), 'show', function(text, level)
    vim.notify('winnow: ' .. text, level)
  end)
  return messages
end

---Run a command that shows a page of text, and return the text.
---@param command string
---@return string
function M.page_of(command)
  local name = 'winnow://' .. command:match('%S+$')
  vim.cmd(command)
  M.wait('the page', function()
    return vim.api.nvim_buf_get_name(0) == name
  end)
  local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  M.press('q')
  M.equal(-1, vim.fn.bufnr(name))
  return text
end

---Wait for the picker's search to end, and return the picker.
---@return winnow.Picker
function M.finished_picker()
  return M.wait('the search of the picker', function()
    local picker = require('winnow.picker').get()
    return picker
      and picker.running
      and not picker.running.busy
      and not picker.draw_pending
      and picker
  end)
end

---@param picker winnow.Picker
---@return string[]
function M.listed(picker)
  M.wait('the list to be drawn', function()
    return not picker.draw_pending
  end)
  return vim.api.nvim_buf_get_lines(picker.windows.list_buf, 0, -1, false)
end

---Press keys and let Neovim process them.
---@param keys string
function M.press(keys)
  vim.api.nvim_feedkeys(vim.keycode(keys), 'xt', false)
end

---Press a key of the picker.
---@param picker winnow.Picker
---@param key string
function M.press_in(picker, key)
  for _, map in ipairs(vim.api.nvim_buf_get_keymap(picker.windows.prompt_buf, 'n')) do
    if vim.keycode(map.lhs) == vim.keycode(key) then
      return map.callback()
    end
  end
  error('no mapping of ' .. key)
end

-- The screen -------------------------------------------------------------------------------

---Return the text of screen cells. The screen must be up to date.
---@param row integer from 1
---@param column integer from 1
---@param width integer
---@return string
local function cells(row, column, width)
  local characters = {}
  for current = column, column + width - 1 do
    characters[#characters + 1] = vim.fn.screenstring(row, current)
  end
  return (table.concat(characters):gsub('%s+$', ''))
end

---Return the text of the complete screen.
---@return string
function M.screen_text()
  vim.cmd.redraw()
  local lines = {}
  for row = 1, vim.o.lines do
    lines[row] = cells(row, 1, vim.o.columns)
  end
  return table.concat(lines, '\n')
end

---Return the screen area of a window with its border: the first and last row and column, from 1.
---@param win integer
---@return { top: integer, left: integer, bottom: integer, right: integer }
function M.area(win)
  local row, column = unpack(vim.fn.win_screenpos(win))
  local border = vim.api.nvim_win_get_config(win).border
  local edges = border and border ~= 'none' and 2 or 0
  return {
    top = row,
    left = column,
    bottom = row + vim.api.nvim_win_get_height(win) + edges - 1,
    right = column + vim.api.nvim_win_get_width(win) + edges - 1,
  }
end

---Return the screen lines in a window's area, with its border and title. If another window covers
---it, they are the other window's. Fail if the area extends beyond the screen.
---@param win integer
---@return string[]
function M.visible(win)
  assert(win and vim.api.nvim_win_is_valid(win), 'no such window')
  vim.cmd.redraw()
  local area = M.area(win)
  assert(
    area.top >= 1
      and area.left >= 1
      and area.bottom <= vim.o.lines - vim.o.cmdheight
      and area.right <= vim.o.columns,
    'the window extends beyond the screen: ' .. vim.inspect(area)
  )
  local lines = {}
  for row = area.top, area.bottom do
    lines[#lines + 1] = cells(row, area.left, area.right - area.left + 1)
  end
  return lines
end

---Return the screen lines in a window's area as one text.
---@param win integer
---@return string
function M.visible_text(win)
  return table.concat(M.visible(win), '\n')
end

---Fail if windows of a picker cover each other.
---@param picker winnow.Picker
function M.nothing_covered(picker)
  local areas = {}
  for _, name in ipairs({ 'prompt', 'list', 'preview' }) do
    local win = picker.windows[name]
    if win then
      local area = M.area(win)
      for other_name, other in pairs(areas) do
        assert(
          area.bottom < other.top
            or area.top > other.bottom
            or area.right < other.left
            or area.left > other.right,
          ('%s covers %s'):format(name, other_name)
        )
      end
      areas[name] = area
    end
  end
end

---Return the highlighted lines of the current item in a picker's list, and the row of the first.
---@param picker winnow.Picker
---@return string[]
---@return integer? row on the screen
function M.marked(picker)
  local lines = M.visible(picker.windows.list)
  local list, prompt = M.area(picker.windows.list), M.area(picker.windows.prompt)
  local plain = vim.fn.screenattr(prompt.top + 1, prompt.right - 1)
  local marked, first = {}, nil
  local count = vim.fn.line('w$', picker.windows.list) - vim.fn.line('w0', picker.windows.list)
  for index = 2, math.min(count + 2, #lines - 1) do
    local row = list.top + index - 1
    if vim.fn.screenattr(row, list.right - 1) ~= plain then
      first = first or row
      marked[#marked + 1] = cells(row, list.left + 1, list.right - list.left - 1)
    end
  end
  return marked, first
end

---Return the attributes of each cell of a text in a window. Fail if the window doesn't show the
---text.
---@param win integer
---@param text string ASCII only
---@return integer[] attributes
---@return integer row on the screen
---@return integer column
function M.attributes(win, text)
  for index, line in ipairs(M.visible(win)) do
    local start = line:find(text, 1, true)
    if start then
      local area = M.area(win)
      local row = area.top + index - 1
      local column = area.left + vim.fn.strchars(line:sub(1, start - 1))
      local attributes = {}
      for offset = 0, #text - 1 do
        attributes[#attributes + 1] = vim.fn.screenattr(row, column + offset)
      end
      return attributes, row, column
    end
  end
  error(('%q is not in:\n%s'):format(text, M.visible_text(win)), 2)
end

---Return the paths of items.
---@param items winnow.Item[]
---@return string[]
function M.paths(items)
  return vim.tbl_map(function(item)
    return item.path
  end, items)
end

---Return true if later tests use this server too.
---@param client vim.lsp.Client
---@return boolean
local function is_shared(client)
  return vim.iter(pairs(shared)):any(function(_, folder)
    return client.root_dir == folder
  end)
end

---Reset everything for the next test, except the servers of shared projects.
function M.clean_up()
  vim.o.columns, vim.o.lines = screen.columns, screen.lines
  for index = #originals, 1, -1 do
    local holder, name, value = unpack(originals[index])
    holder[name] = value
  end
  originals = {}
  for _, finish in ipairs(endings) do
    finish()
  end
  endings = {}
  local picker = package.loaded['winnow.picker']
  if picker and picker.get() then
    picker.get():close()
  end
  vim.cmd('silent! only | silent! tabonly')
  vim.fn.setqflist({}, 'f')
  vim.fn.setloclist(0, {}, 'f')
  vim.cmd.enew()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if buf ~= vim.api.nvim_get_current_buf() then
      pcall(vim.api.nvim_buf_delete, buf, { force = true })
    end
  end
  for _, client in ipairs(vim.lsp.get_clients({ name = 'winnow', _uninitialized = true })) do
    if not is_shared(client) then
      client:stop()
    end
  end
end

---Stop the servers and wait until they exit, so that they don't write to folders being deleted.
---@return integer[] children that still run
function M.stop_servers()
  shared = {}
  local function running()
    return vim.lsp.get_clients({ name = 'winnow', _uninitialized = true })
  end
  for _, client in ipairs(running()) do
    client:stop()
  end
  local function children()
    return vim.api.nvim_get_proc_children(vim.fn.getpid())
  end
  -- Processes that still run after this time count as left behind.
  vim.wait(WAIT_MS, function()
    return #running() == 0 and #children() == 0
  end, 10)
  return children()
end

return M
