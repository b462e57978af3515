-- The picker: its behavior and its appearance. tests/ui tests it on a large tree.

local t = require('support')

---@param command string
---@return winnow.Picker
local function open(command)
  vim.cmd(command)
  return t.finished_picker()
end

---@param picker winnow.Picker
---@param text string
local function type_in(picker, text)
  vim.api.nvim_buf_set_lines(picker.windows.prompt_buf, 0, -1, false, { '> ' .. text })
  vim.api.nvim_exec_autocmds('TextChangedI', { buffer = picker.windows.prompt_buf })
end

local press = t.press_in

local function cursor_line(picker)
  return vim.api.nvim_win_get_cursor(picker.windows.list)[1]
end

---Open a picker whose search receives the results that the test passes to it.
---@param mode winnow.Mode
---@return winnow.Picker picker
---@return fun(value: table) partial
---@return fun(answer?: table, problem?: string) done
---@return fun(): integer cancelled
local function scripted(mode, query)
  local search_callbacks, cancelled = nil, 0
  t.replace(require('winnow.client'), 'with_client', function(_, done)
    done({})
  end)
  t.replace(require('winnow.client'), 'request', function(_, _, _, callbacks)
    -- Ignore requests of the preview.
    search_callbacks = callbacks.partial and callbacks or search_callbacks
    return function()
      cancelled = cancelled + 1
    end
  end)
  local picker = require('winnow.picker').open(mode, { query = query, terms = { 'x' } })
  return picker,
    function(value)
      search_callbacks.partial(value)
      t.listed(picker)
    end,
    function(...)
      search_callbacks.done(...)
      t.listed(picker)
    end,
    function()
      return cancelled
    end
end

local function file(path, reason)
  return {
    path = path,
    reason = reason or ('because of ' .. path),
    terms = {},
    matches = { { line = 3, column = 2, text = 'text', match_range = { 2, 4 } } },
  }
end

local function ranking(kind, ...)
  local files = {}
  for _, name in ipairs({ ... }) do
    files[#files + 1] = file(name)
  end
  return { files = files, ranked_by = { kind = kind, model = kind == 'llm' and 'm' or nil } }
end

local function answer(kind, ...)
  return vim.tbl_extend('force', ranking(kind, ...), {
    root = vim.uv.cwd(),
    search_id = 'abc',
    total_found = 9,
    returned = select('#', ...),
    truncated = false,
    completeness = { complete = true, reasons = {}, skipped = {}, timed_out = false },
    warnings = {},
    terms = {},
  })
end

local function shown(picker)
  return t.paths(picker.shown)
end

return {
  {
    'without a query, the server starts while the user types it',
    function()
      local folder = t.project()
      t.setup()
      vim.cmd('Winnow keyword')
      local picker = require('winnow.picker').get()
      t.equal({ true, nil }, { picker.editing, picker.running })
      t.contains(t.visible(picker.windows.prompt)[1], ' symbols semantic [keyword] docs ')
      t.contains(t.visible(picker.windows.list)[1], ' keyword search ')
      t.nothing_covered(picker)
      t.wait('the server', function()
        local client = require('winnow.client').running(folder)
        return client and client.initialized
      end)
      t.equal({ true, nil }, { picker.editing, picker.running })
    end,
  },
  {
    'the windows show results, the count, a preview, and the reason of the current result',
    function()
      t.shared_project()
      t.setup()
      local picker = open('Winnow keyword how are plugins loaded -- load_plugin\\b no_such_thing')
      -- The prompt is above the list, and the preview on the right.
      t.nothing_covered(picker)
      local windows = picker.windows
      local list, preview = t.area(windows.list), t.area(windows.preview)
      assert(t.area(windows.prompt).bottom < list.top and list.right < preview.left)
      t.equal({ t.area(windows.prompt).top, list.bottom }, { preview.top, preview.bottom })
      local rows = t.visible(windows.list)
      t.contains(rows[1], ' keyword search: how are plugins loaded -- load_plugin')
      local columns = t.columns(t.marked(picker)[1])
      t.equal('loader.py:5 src', columns[1])
      t.contains(columns[2], 'def load_plugin(self')
      t.contains(columns[3], 'defines load_plugin; ')
      t.equal(1, #t.marked(picker))
      -- No model has a key, which is no news.
      t.equal('╰ 1 of 1 file ', vim.fn.strcharpart(rows[#rows], 0, 14))
      t.contains(rows[#rows], ' 1/1 ╯')
      t.contains(t.visible(windows.preview)[1], ' src/loader.py ')
      t.contains(t.visible_text(windows.preview), '  5     def load_plugin(self, name):')
      t.contains(t.visible_text(windows.preview), '╰ defines load_plugin')
    end,
  },
  {
    'the reason is beside the line, and an option puts it below',
    function()
      t.shared_project()
      t.setup({ layout = 'vertical' })
      local picker = open('Winnow keyword plugins -- load_plugin\\b')
      local columns = t.columns(t.marked(picker)[1])
      t.equal({ 'loader.py:5 src', 'def load_plugin(self, name):' }, { columns[1], columns[2] })
      t.contains(columns[3], 'defines load_plugin; ')
      t.equal(t.area(picker.windows.list).bottom + 1, t.area(picker.windows.preview).top)
      press(picker, '<Esc>')
      t.setup({ reasons = 'below' })
      picker = open('Winnow keyword plugins -- load_plugin\\b')
      local rows = t.visible(picker.windows.list)
      t.contains(rows[2], 'def load_plugin(self, name):')
      t.contains(rows[3], '    defines load_plugin')
      t.equal(2, #t.marked(picker))
    end,
  },
  {
    'the preview shows the file with the match highlighted',
    function()
      t.shared_project()
      t.setup()
      local picker = open('Winnow grep def load_plugin\\b')
      t.listed(picker)
      local buf = vim.api.nvim_win_get_buf(picker.windows.preview)
      t.equal('class Loader:', vim.api.nvim_buf_get_lines(buf, 0, 1, false)[1])
      local marks = vim.api.nvim_buf_get_extmarks(buf, -1, 0, -1, { details = true })
      local match = vim.iter(marks):find(function(mark)
        return mark[4].hl_group == 'WinnowMatch'
      end)
      t.equal({ 4, 4, 19 }, { match[2], match[3], match[4].end_col })
      t.equal(5, vim.api.nvim_win_get_cursor(picker.windows.preview)[1])
      local seen, row = t.attributes(picker.windows.preview, '    def load_plugin(self, name)')
      t.equal(1, #vim.fn.uniq(vim.list_slice(seen, 9, 19)))
      -- Syntax doesn't color spaces, so only the space in the match differs.
      t.equal({ true, false }, { seen[26] == seen[4], seen[8] == seen[4] })
      t.equal(t.area(picker.windows.preview).top + 5, row, 'the fifth line')
    end,
  },
  {
    'the preview scrolls sideways to a match far right in its line',
    function()
      t.project({
        ['long.txt'] = ('padding '):rep(375) .. 'the needle' .. (' padding'):rep(20) .. '\n',
        ['short.txt'] = 'the needle\n',
      })
      t.setup()
      local picker = open('Winnow grep needle')
      for _, path in ipairs({ 'short.txt', 'long.txt', 'short.txt' }) do
        picker:go_to(vim.iter(ipairs(picker.shown)):find(function(_, item)
          return item.path == path
        end))
        picker.preview:refresh()
        t.contains(t.visible_text(picker.windows.preview), 'the needle')
      end
      t.contains(t.visible(picker.windows.preview)[2], '  1 the needle')
    end,
  },
  {
    'the preview of a large file shows the lines around the match, from the server',
    function()
      t.project({ ['large.txt'] = ('padding of a line\n'):rep(70000) .. 'the needle\n' })
      t.setup()
      local picker = open('Winnow grep needle')
      t.listed(picker)
      local line = t.wait('the preview', function()
        local win = picker.windows.preview
        local at = vim.api.nvim_win_get_cursor(win)[1]
        local buf = vim.api.nvim_win_get_buf(win)
        local text = vim.api.nvim_buf_get_lines(buf, at - 1, at, false)[1]
        return text ~= '' and text
      end)
      t.equal('the needle', line)
      local _, row = t.attributes(picker.windows.preview, 'the needle')
      local area = t.area(picker.windows.preview)
      assert(row > area.top and row < area.bottom)
      t.contains(t.visible(picker.windows.preview)[1], ' large.txt ')
    end,
  },
  {
    'a filter keeps the order of the ranking',
    function()
      t.shared_project()
      t.setup()
      local picker, partial = scripted('keyword', 'q')
      partial(ranking('local', 'abc/one.lua', 'two.lua', 'abc/three.lua'))
      type_in(picker, 'ac3 beca')
      t.equal({}, shown(picker))
      type_in(picker, 'aclua because')
      t.equal({ 'abc/one.lua', 'abc/three.lua' }, shown(picker))
      local rows = t.visible(picker.windows.list)
      t.contains(rows[2], '  one.lua:3 abc ')
      t.contains(rows[3], '  three.lua:3 abc ')
      assert(not table.concat(rows, '\n'):find('two.lua', 1, true))
      t.contains(t.visible_text(picker.windows.prompt), '> aclua because')
      type_in(picker, 'ABC')
      t.equal({}, shown(picker))
      type_in(picker, '')
      t.equal(3, #picker.shown)
    end,
  },
  {
    'the cursor stays on its result when a better order arrives',
    function()
      t.shared_project()
      t.setup()
      local picker, partial, done = scripted('keyword', 'q')
      partial(ranking('local', 'a', 'b', 'c', 'd'))
      press(picker, '<C-n>')
      t.equal('b', picker:item().path)
      t.equal({ 'b:3', 'text', 'because of b' }, t.columns(t.marked(picker)[1]))
      partial(ranking('local', 'x', 'a', 'c', 'b'))
      t.equal({ 'b', 4 }, { picker:item().path, cursor_line(picker) })
      partial(ranking('llm', 'c'))
      t.equal({ 'c', 'x', 'a', 'b' }, shown(picker))
      t.equal({ 'b', 4 }, { picker:item().path, cursor_line(picker) })
      t.equal({ 'b:3', 'text', 'because of b' }, t.columns(t.marked(picker)[1]))
      partial(ranking('llm', 'b'))
      t.equal({ 'c', 'b', 'x', 'a' }, shown(picker))
      t.equal({ 'b', 2 }, { picker:item().path, cursor_line(picker) })
      local result = answer('llm', 'c', 'b')
      result.not_chosen = { { path = 'x', line = 3 }, { path = 'y', line = 7 } }
      done(result)
      t.equal({ 'c', 'b', 'x', 'y' }, shown(picker))
      t.equal({ 'b', 2 }, { picker:item().path, cursor_line(picker) })
      t.equal({ 'b:3', 'text', 'because of b' }, t.columns(t.marked(picker)[1]))
      t.contains(t.visible_text(picker.windows.list), '4 of 9 files · ranked by m, which chose 2')
      local lines = t.listed(picker)
      t.equal({ 'x:3', 'text', 'not chosen by the model' }, t.columns(lines[3]))
      t.equal({ 'y:7', 'not chosen by the model' }, t.columns(lines[4]))
    end,
  },
  {
    'until the user moves, the cursor follows the best local result, but not a model',
    function()
      t.shared_project()
      t.setup()
      local picker, partial, done = scripted('keyword', 'q')
      partial(ranking('local', 'a', 'b'))
      partial(ranking('local', 'x', 'a', 'b'))
      t.equal({ 'x', 1 }, { picker:item().path, cursor_line(picker) })
      partial(ranking('llm', 'b'))
      t.equal({ 'x', 2 }, { picker:item().path, cursor_line(picker) })
      done(answer('llm', 'b', 'x'))
      t.equal('x', picker:item().path)
      t.equal({ 'x:3', 'text', 'because of x' }, t.columns(t.marked(picker)[1]))
      t.contains(t.visible(picker.windows.list)[2], '  b:3 ')
    end,
  },
  {
    'the list says that the server starts',
    function()
      t.shared_project()
      t.setup()
      local client, started = require('winnow.client'), nil
      t.replace(client, 'with_client', function(_, done)
        started = done
      end)
      t.replace(client, 'request', function()
        return function() end
      end)
      local picker = require('winnow.picker').open('grep', { query = 'q' })
      t.contains(t.visible_text(picker.windows.list), '╰ starting the server… ')
      started({})
      t.listed(picker)
      t.contains(t.visible_text(picker.windows.list), '╰ searching… ')
    end,
  },
  {
    'another mode shows no results of the mode before',
    function()
      t.shared_project()
      t.setup()
      local picker, partial = scripted('keyword', 'q')
      partial(ranking('local', 'a', 'b'))
      press(picker, '<C-t>')
      t.contains(t.visible(picker.windows.list)[1], ' documents: q ')
      t.equal({}, picker.shown)
    end,
  },
  {
    'a live search is repeated while the index is being built',
    function()
      t.shared_project()
      t.setup()
      local picker, _, done = scripted('code', 'q')
      local waits_for
      local function answered(state, ...)
        local result = answer('local', ...)
        result.completeness.index = {
          state = state,
          files_indexed = 1,
          texts_indexed = 3,
          files_total = 4,
          waits_for = waits_for,
        }
        result.results = vim.tbl_map(function(name)
          return { path = name, start_line = 3, end_line = 3, why = 'because', score = 1 }
        end, { ... })
        done(result)
      end
      answered('building', 'a', 'b')
      t.contains(t.visible_text(picker.windows.list), 'the index is 50 % complete')
      press(picker, '<C-n>')
      local early = picker.search
      t.wait('the repetition', function()
        return picker.repeated
      end)
      t.equal({ early, false }, { picker.search, picker.running.busy })
      local repeated = picker.repeated
      waits_for = 'other programs use 97 % of the processors'
      answered('building', 'a', 'b')
      t.contains(t.visible_text(picker.windows.list), 'the index waits at 50 %')
      t.wait('the next repetition', function()
        return picker.repeated ~= repeated
      end)
      answered('ready', 'x', 'a', 'b')
      t.equal({ 'x', 'a', 'b' }, shown(picker))
      t.equal({ 'b', 3 }, { picker:item().path, cursor_line(picker) })
      assert(not t.visible_text(picker.windows.list):find('% complete', 1, true))
      t.equal(false, picker.repeat_timer:is_active())
      picker.search.answer.completeness.index.state = 'building'
      picker:close()
      local timer = assert(require('winnow.picker').resume()).repeat_timer
      t.equal({ true, 0 }, { timer:is_active(), timer:get_due_in() })
    end,
  },
  {
    'the row under the cursor stays at its height when rows are inserted above it',
    function()
      t.shared_project()
      t.setup()
      local names = {}
      for number = 1, 60 do
        names[number] = ('f%02d'):format(number)
      end
      local picker, partial = scripted('keyword', 'q')
      partial(ranking('local', unpack(names)))
      for _ = 1, 20 do
        press(picker, '<C-n>')
      end
      local function height()
        return vim.api.nvim_win_call(picker.windows.list, function()
          return vim.fn.line('.') - vim.fn.line('w0')
        end)
      end
      local before = height()
      local marked, row = t.marked(picker)
      t.equal({ 'f21:3', 'text', 'because of f21' }, t.columns(marked[1]))
      table.insert(names, 1, 'n01')
      table.insert(names, 1, 'n02')
      partial(ranking('local', unpack(names)))
      t.equal({ 'f21', before }, { picker:item().path, height() })
      t.equal({ marked, row }, { t.marked(picker) })
    end,
  },
  {
    'only rows near the visible ones are formatted, and scrolling formats the others',
    function()
      t.shared_project()
      t.setup()
      local names = {}
      for number = 1, 400 do
        names[number] = ('f%03d'):format(number)
      end
      local picker, partial = scripted('keyword', 'q')
      partial(ranking('local', unpack(names)))
      local height = vim.api.nvim_win_get_height(picker.windows.list)
      local lines = t.listed(picker)
      t.equal({ 400, '' }, { #lines, lines[3 * height] })
      local function check(first)
        vim.cmd.redraw()
        -- The first is the border.
        local rows = vim.list_slice(t.visible(picker.windows.list), 2, height + 1)
        for index, row in ipairs(rows) do
          local name = ('f%03d'):format(first + index - 1)
          t.contains(row, ('  %s:3  text '):format(name))
          t.contains(row, (' because of %s '):format(name))
        end
      end
      check(1)
      press(picker, '<C-p>')
      check(400 - height + 1)
      vim.api.nvim_win_call(picker.windows.list, function()
        vim.fn.winrestview({ lnum = 200, topline = 200 })
      end)
      vim.api.nvim_exec_autocmds('WinScrolled', {})
      check(200)
    end,
  },
  {
    'stop cancels the search and ends the busy state immediately, and close cancels too',
    function()
      t.shared_project()
      t.setup()
      local picker, partial, _, cancelled = scripted('keyword', 'q')
      partial(ranking('local', 'a', 'b'))
      press(picker, '<C-c>')
      t.equal({ 1, false }, { cancelled(), picker.running.busy })
      t.equal({ 'a', 'b' }, shown(picker))
      t.contains(t.visible_text(picker.windows.list), ' stopped after 2 ')
      picker:close()
      local second, _, _, cancelled_again = scripted('keyword', 'q')
      press(second, '<C-c>')
      t.contains(t.visible_text(second.windows.list), 'Stopped before anything was found')
      press(second, '<Esc>')
      t.equal(1, cancelled_again())
      t.equal(nil, require('winnow.picker').get())
    end,
  },
  {
    'Enter opens the current result at its line and column, and the jump list returns',
    function()
      local folder = t.shared_project()
      t.setup()
      vim.cmd.edit('docs/plugins.md')
      local picker = open('Winnow grep plugin_sp')
      press(picker, '<CR>')
      t.equal(folder .. '/src/loader.py', vim.api.nvim_buf_get_name(0))
      t.equal('src/loader.py', vim.fn.bufname())
      local cursor = vim.api.nvim_win_get_cursor(0)
      t.equal(6, cursor[1])
      t.equal('plugin_sp', vim.api.nvim_get_current_line():sub(cursor[2] + 1, cursor[2] + 9))
      -- The picker is closed, and the line is visible.
      t.contains(t.visible_text(0), 'return registry[name]  # žluťoučký kůň: plugin_späť')
      t.equal(6, vim.fn.line('w0') + vim.fn.winline() - 1)
      vim.cmd.normal({ vim.keycode('<C-o>'), bang = true })
      t.equal(folder .. '/docs/plugins.md', vim.api.nvim_buf_get_name(0))
    end,
  },
  {
    'a deleted file is neither opened nor previewed',
    function()
      local folder = t.project()
      t.setup()
      local messages = t.notified()
      local picker = open('Winnow grep register_plugin path|def register_plugin')
      vim.fn.delete(folder .. '/src/registry.py')
      picker.preview:refresh()
      t.contains(t.visible_text(picker.windows.preview), '│This file was deleted.')
      press(picker, '<CR>')
      t.equal({ { 'winnow: src/registry.py was deleted', vim.log.levels.WARN } }, messages)
      t.equal('', vim.api.nvim_buf_get_name(0))
    end,
  },
  {
    'a line that has moved since the search is found, and a message says if it is gone',
    function()
      local folder = t.project()
      t.setup()
      local messages = t.notified()
      local function reopened(mode, lines)
        t.write(folder .. '/src/loader.py', t.FILES['src/loader.py'])
        local picker = open(('Winnow %s load_plugin'):format(mode))
        picker:go_to(vim.iter(ipairs(picker.shown)):find(function(_, item)
          return item.path == 'src/loader.py' and item.lnum == 5
        end))
        t.write(folder .. '/src/loader.py', table.concat(lines, '\n') .. '\n')
        picker.preview:refresh()
        local preview_line = vim.api.nvim_win_get_cursor(picker.windows.preview)[1]
        press(picker, '<CR>')
        local cursor = vim.api.nvim_win_get_cursor(0)
        t.equal(preview_line, cursor[1])
        vim.cmd('bwipeout!')
        return cursor
      end
      local lines = vim.split(vim.trim(t.FILES['src/loader.py']), '\n')
      for _, mode in ipairs({ 'grep', 'code' }) do
        local below = vim.list_extend({ '# 1', '# 2', '# 3' }, lines)
        t.equal(8, reopened(mode, below)[1], mode)
      end
      t.equal({ 2, 8 }, reopened('grep', vim.list_slice(lines, 4)))
      t.equal({}, messages)
      t.equal(2, reopened('grep', { 'class Loader:', '    pass' })[1])
      t.equal('winnow: src/loader.py has changed and no longer has this line', messages[1][1])
    end,
  },
  {
    'a moved definition is found by its signature, or by its name',
    function()
      local modes = require('winnow.modes')
      local buf = vim.api.nvim_create_buf(false, true)
      local lines = { 'loads()', 'load(1)', 'def load(', '    name):', 'def load(a):' }
      vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
      local function found(signature, name)
        local definition = { path = 'a.py', line = 1, column = 5, name = name, kind = 'function' }
        definition.signature, definition.qualified_name = signature, name
        local item = modes.items(modes.get('symbols'), { symbols = { definition } }, '/')[1]
        return { require('winnow.place').find_line(buf, item, 0) }
      end
      t.equal({ 5, true }, found('def load(a)', 'load'))
      t.equal({ 2, true }, found('def load(name)', 'load'))
      t.equal({ 1, false }, found('def save(name)', 'save'))
    end,
  },
  {
    'a search without results and a failed search show the reason',
    function()
      t.shared_project()
      t.setup()
      local function summary_of(command)
        local picker = open(command)
        t.equal({}, picker.shown)
        t.listed(picker)
        t.nothing_covered(picker)
        local text = t.visible_text(picker.windows.list)
        press(picker, '<Esc>')
        return text
      end
      local nothing = summary_of('Winnow grep load_plugin_from_cache')
      t.contains(nothing, '  No results')
      t.contains(nothing, '╰ no matches ')
      t.contains(nothing, 'put `include_ignored=true` before the')
      local undefined = summary_of('Winnow code zxqvwk_nothing_here'):gsub('[│%s]+', ' ')
      t.contains(undefined, 'use `:Winnow grep include_ignored=true include_hidden=true`')
      t.equal(1, select(2, undefined:gsub('nothing is defined with the name', '')))
      local failed = summary_of('Winnow grep ('):gsub('[│%s]+', ' ')
      t.contains(failed, 'unclosed group')
      t.contains(failed, 'or put `literal=true` before the query')
      local files = summary_of('Winnow files load_plugns'):gsub('[│%s]+', ' ')
      t.contains(files, 'ignored and hidden files are not searched here')
      assert(not files:find('grep', 1, true) and not files:find('did you mean', 1, true), files)
      t.project()
      t.setup(nil, { cmd = { 'no-such-winnow', 'serve' } })
      t.contains(summary_of('Winnow grep plugin'), '`no-such-winnow` not found')
    end,
  },
  {
    'typing corrects a query that failed or found nothing',
    function()
      t.shared_project()
      t.setup()
      for typed, text in pairs({
        ['register_plugn'] = 'register_plugn',
        ['path=src register_plugin('] = 'register_plugin(',
        ['-- path=src word=true'] = 'path=src word=true',
      }) do
        local picker = open('Winnow grep ' .. typed)
        t.equal({ true, text, false }, { picker.editing, picker:typed(), picker:has_new_query() })
        t.contains(t.visible(picker.windows.prompt)[1], ' [grep] ')
        type_in(picker, 'register_plugin')
        t.wait('the result', function()
          return #picker.shown > 0
        end)
        t.equal(typed:match('^path=') and { path = 'src' } or {}, picker.request.params)
        picker:close()
      end
    end,
  },
  {
    'a key for more files says which modes leave them out',
    function()
      t.shared_project()
      t.setup()
      local picker = open('Winnow files loader')
      press(picker, '<M-h>')
      t.contains(
        t.visible_text(picker.windows.list),
        'files leaves out hidden files; grep searches their text'
      )
    end,
  },
  {
    'keys open results in splits and tabs',
    function()
      t.shared_project()
      t.setup()
      local counts = { ['<C-x>'] = { 2, 1 }, ['<C-v>'] = { 2, 1 }, ['<M-t>'] = { 1, 2 } }
      for key, count in pairs(counts) do
        press(open('Winnow grep register_plugin path'), '<Esc>')
        press(open('Winnow grep def register_plugin'), key)
        local windows = #vim.api.nvim_tabpage_list_wins(0)
        t.equal(count, { windows, #vim.api.nvim_list_tabpages() }, key)
        t.contains(vim.api.nvim_buf_get_name(0), 'registry.py')
        vim.cmd('silent! only | silent! tabonly')
      end
    end,
  },
  {
    'keys send selected results, or all if none is selected, to lists',
    function()
      t.shared_project()
      t.setup({ open_list = false })
      local picker = open('Winnow grep register_plugin|class Loader|registry = ')
      assert(#picker.shown >= 4, #picker.shown)
      press(picker, '<Tab>')
      press(picker, '<C-n>')
      press(picker, '<Tab>')
      t.listed(picker)
      t.contains(t.visible(picker.windows.list)[2], '● ')
      t.contains(t.visible_text(picker.windows.list), '2 selected · ')
      press(picker, '<C-q>')
      t.equal(2, #vim.fn.getqflist())
      local title = vim.fn.getqflist({ title = 0 }).title
      t.contains(title, 'winnow grep: register_plugin')
      t.contains(title, (' [2 of %d matches'):format(#picker.search.items))
      picker = open('Winnow grep register_plugin')
      local all = #picker.shown
      press(picker, '<C-l>')
      t.equal(all, #vim.fn.getloclist(0))
    end,
  },
  {
    'a live mode searches as the user types, and the last query wins',
    function()
      t.shared_project()
      t.setup()
      vim.cmd('Winnow grep')
      local picker = require('winnow.picker').get()
      t.equal(true, picker.editing)
      type_in(picker, 'regis')
      type_in(picker, 'class Lo')
      t.wait('its result', function()
        return #picker.shown == 1 and picker.shown[1].text == 'class Loader:'
      end)
      t.listed(picker)
      t.equal({ 'loader.py:1 src', 'class Loader:' }, t.columns(t.marked(picker)[1]))
      press(picker, '<C-g>')
      t.equal(false, picker.editing)
      t.equal('class Lo', picker.request.query)
      type_in(picker, 'nomatch')
      t.equal({}, picker.shown)
    end,
  },
  {
    'while the user types, an incomplete regular expression keeps the results',
    function()
      t.shared_project()
      t.setup()
      vim.cmd('Winnow grep')
      local picker = require('winnow.picker').get()
      local function search_for(text)
        type_in(picker, text)
        t.wait('its search', function()
          return picker.request.query == text and not picker.running.busy
        end)
        t.listed(picker)
      end
      search_for('class Lo')
      search_for('class (Lo')
      t.equal({ 'src/loader.py' }, shown(picker))
      local rows = t.visible_text(picker.windows.list)
      t.contains(rows, '  class Loader:')
      t.contains(rows, '╰ ')
      t.contains(rows, 'unclosed group')
      search_for('class (Loader)')
      t.contains(t.visible_text(picker.windows.list), '╰ 1 of 1 match ')
      search_for('no such text')
      t.equal({}, picker.shown)
      search_for('no (such')
      t.contains(t.visible(picker.windows.list)[2], 'unclosed group')
    end,
  },
  {
    'a search for files counts files',
    function()
      t.shared_project()
      t.setup()
      local picker = open('Winnow grep mode=files register_plugin')
      t.contains(t.visible_text(picker.windows.list), '╰ 2 of 2 files ')
    end,
  },
  {
    'while a search runs, the border says so',
    function()
      t.shared_project()
      t.setup()
      local picker = scripted('code', 'q')
      picker.search.message = '352 files match'
      picker:draw()
      t.contains(t.visible_text(picker.windows.list), '╰ searching… 352 files match ')
    end,
  },
  {
    'a keyword search runs on Enter, not as the user types',
    function()
      t.shared_project()
      t.setup()
      vim.cmd('Winnow keyword')
      local picker = require('winnow.picker').get()
      type_in(picker, 'how are plugins loaded -- load_plugin\\b')
      t.equal({ nil, false }, { picker.running, picker.type_timer:is_active() })
      press(picker, '<CR>')
      picker = t.finished_picker()
      t.equal('src/loader.py', picker.shown[1].path)
      t.equal({ 'load_plugin\\b' }, picker.request.terms)
      t.equal(false, picker.editing, 'the prompt is a filter now')
    end,
  },
  {
    'resume restores results, filter, selection and cursor',
    function()
      t.shared_project()
      t.setup()
      local picker = open('Winnow grep register_plugin|class Loader|registry = ')
      type_in(picker, 'reg')
      press(picker, '<Tab>')
      local item, items = picker:item(), #picker.shown
      press(picker, '<Esc>')
      vim.cmd('Winnow resume')
      local resumed = require('winnow.picker').get()
      assert(resumed and resumed ~= picker)
      t.equal({ item.key, items, 'reg' }, { resumed:item().key, #resumed.shown, resumed.filter })
      t.listed(resumed)
      t.contains(t.marked(resumed)[1], ('%s:%d'):format(vim.fs.basename(item.path), item.lnum))
      t.contains(t.visible_text(resumed.windows.list), '1 selected')
      t.equal(1, vim.tbl_count(resumed.selected))
      press(resumed, '<C-g>')
      t.equal('register_plugin|class Loader|registry =', resumed:typed())
    end,
  },
  {
    'the history has each search once, the latest first, across sessions',
    function()
      t.shared_project()
      t.setup()
      local history = require('winnow.history')
      vim.fn.delete(history.file())
      press(open('Winnow grep register_plugin'), '<Esc>')
      press(open('Winnow grep path=src Loader'), '<Esc>')
      press(open('Winnow grep register_plugin'), '<Esc>')
      local queries = vim.tbl_map(function(entry)
        return entry.query
      end, history.of_mode('grep'))
      t.equal({ 'register_plugin', 'Loader' }, queries)
      local chosen
      t.replace(vim.ui, 'select', function(list, options, choose)
        chosen = options.format_item(list[2])
        choose(list[2])
      end)
      vim.cmd('Winnow history')
      t.equal('grep     path=src Loader', chosen)
      local picker = t.finished_picker()
      t.equal({ path = 'src' }, picker.request.params)
      press(picker, '<C-Up>')
      t.equal('register_plugin', t.finished_picker().request.query)
      history.add('grep', { query = 'elsewhere' }, '/code/other')
      t.replace(vim.ui, 'select', function(list, options)
        chosen = options.format_item(list[1])
      end)
      vim.cmd('Winnow history')
      t.equal('grep in other elsewhere', chosen)
      t.write(history.file(), '{"half')
      t.equal({}, history.all())
    end,
  },
  {
    'details show the complete reason and summary',
    function()
      t.shared_project()
      t.setup()
      local picker = open('Winnow keyword plugins -- register_plugin no_such_thing')
      press(picker, '<C-/>')
      local details = t.visible_text(picker.windows.preview)
      t.contains(details, 'src/registry.py:3: defines register_plugin')
      t.contains(details, 'no_such_thing (no match)')
      t.contains(details, 'ranked locally: no language model has a key')
      press(picker, '<C-/>')
      t.contains(t.visible_text(picker.windows.preview), 'def register_plugin(name, plugin):')
    end,
  },
  {
    'a pasted stack trace keeps the indentation by which the server finds its lines',
    function()
      t.shared_project()
      t.setup()
      local picker = scripted('code')
      vim.api.nvim_buf_set_lines(picker.windows.prompt_buf, 0, -1, false, {
        'panic: no loader',
        '',
        'main.main()',
        '> \t/src/loader.go:12 +0x1d',
      })
      vim.api.nvim_exec_autocmds('TextChangedI', { buffer = picker.windows.prompt_buf })
      t.equal('panic: no loader  main.main() \t/src/loader.go:12 +0x1d', picker:typed())
    end,
  },
  {
    'opening a result reports it to the server',
    function()
      t.shared_project()
      t.setup()
      local reported = {}
      t.replace(require('winnow'), 'feedback', function(...)
        reported = { ... }
      end)
      local picker = open('Winnow keyword plugins -- register_plugin')
      local item, id = picker:item(), picker.search.answer.search_id
      press(picker, '<CR>')
      local action, opened, search_id = unpack(reported)
      t.equal({ 'opened', item.path, id, 1 }, { action, opened.path, search_id, opened.rank })
    end,
  },
  {
    'on a wide screen, the list is wider than the preview and cuts nothing',
    function()
      t.shared_project()
      t.setup()
      vim.o.columns, vim.o.lines = 200, 50
      local picker, partial = scripted('keyword', 'q')
      local found =
        file('lib/package/subpackage/module.py', 'defines a_very_long_name; ' .. ('r'):rep(14))
      found.matches[1].text = ('c'):rep(28)
      partial({ files = { found }, ranked_by = { kind = 'local' } })
      t.nothing_covered(picker)
      local width = vim.api.nvim_win_get_width
      t.equal({ 106, 70 }, { width(picker.windows.list), width(picker.windows.preview) })
      t.equal({
        'module.py:3 lib/…/subpackage',
        ('c'):rep(28),
        'defines a_very_long_name; ' .. ('r'):rep(14),
      }, t.columns(t.marked(picker)[1]))
    end,
  },
  {
    'the picker fits a small screen and adapts to its size',
    function()
      t.shared_project()
      t.setup()
      local function resize(columns, lines)
        vim.o.columns, vim.o.lines = columns, lines
        vim.api.nvim_exec_autocmds('VimResized', {})
      end
      resize(60, 16)
      local picker = open('Winnow grep register_plugin')
      t.listed(picker)
      local function assert_readable()
        t.nothing_covered(picker)
        local rows = t.visible_text(picker.windows.list)
        t.contains(rows, 'registry.py:3 src ')
        t.contains(rows, '2 of 2 matches')
        t.contains(rows, ' 1/2 ╯')
        t.contains(t.visible(picker.windows.prompt)[1], ' filter ')
      end
      -- The preview is below the list.
      t.equal(t.area(picker.windows.list).bottom + 1, t.area(picker.windows.preview).top)
      assert_readable()
      resize(40, 9)
      t.equal(nil, picker.windows.preview)
      t.nothing_covered(picker)
      resize(120, 30)
      assert(picker.windows.preview)
      assert_readable()
      t.contains(t.visible_text(picker.windows.preview), 'Call `register_plugin` to add one.')
      local width = vim.api.nvim_win_get_width(picker.windows.list)
      press(picker, '<M-p>')
      t.equal(nil, picker.windows.preview)
      assert_readable()
      assert(vim.api.nvim_win_get_width(picker.windows.list) > width, 'the list is wider')
    end,
  },
}
