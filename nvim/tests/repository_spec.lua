-- Files of repositories in the search cluster.

local t = require('support')

local NAME = 'winnow://team/parts@c1:/src/parts.py'

---Start a cluster with one repository. Return its address.
---@return string
local function cluster()
  if vim.system({ 'python', '-c', 'import opensearchpy' }):wait().code ~= 0 then
    t.skip('winnow-ls[cluster] is not installed')
  end
  local address ---@type string?
  local script = vim.fs.joinpath(t.plugin, '../tests/fake_cluster.py')
  local process = vim.system({ 'python', script }, {
    stdin = true,
    stdout = function(_, line)
      address = address or (line and vim.trim(line))
    end,
  })
  t.at_end(function()
    process:kill('sigkill')
  end)
  return t.wait('the cluster', function()
    return address
  end)
end

---Return a project whose searches cover the repositories of the cluster.
---@param files? table<string, string>
---@return string folder
local function project(files)
  local folder = t.project(files or { ['notes.txt'] = 'nothing\n' })
  t.setup({ open_list = false }, {
    settings = {
      winnow = {
        index = { enabled = false },
        learning = { enabled = false },
        cluster = { addresses = { cluster() }, repositories = { 'team/*' }, seconds = 10 },
      },
    },
  })
  return folder
end

---@return string[]
local function lines()
  return vim.api.nvim_buf_get_lines(0, 0, -1, false)
end

return {
  {
    'a result of the cluster is previewed, and opens read-only with its file type',
    function()
      project()
      vim.cmd('Winnow grep split_parts')
      local picker = t.finished_picker()
      t.equal(2, #picker.shown)
      t.contains(t.listed(picker)[1], 'README.md:3 team/parts:')
      t.contains(t.listed(picker)[2], 'parts.py:4 team/parts:src')
      t.press_in(picker, '<C-n>')
      t.wait('the preview', function()
        return t.visible_text(picker.windows.preview):find('return data[:PART_BYTES]', 1, true)
      end)
      t.press_in(picker, '<CR>')
      t.equal(NAME, vim.api.nvim_buf_get_name(0))
      t.equal({ 4, 4 }, vim.api.nvim_win_get_cursor(0))
      t.equal('def split_parts(data):', vim.api.nvim_get_current_line())
      t.equal({ 'python', 'nofile', false }, {
        vim.bo.filetype,
        vim.bo.buftype,
        vim.bo.modifiable,
      })
    end,
  },
  {
    'list entries open it too',
    function()
      project()
      local messages = t.notified()
      vim.cmd('Winnow! grep split_parts')
      t.wait('the list', function()
        return #messages > 0
      end)
      vim.cmd.clast()
      t.equal({ NAME, 4 }, { vim.api.nvim_buf_get_name(0), vim.fn.line('.') })
      t.equal(5, #lines())
    end,
  },
  {
    'a parameter names other repositories, or none',
    function()
      project()
      local found
      require('winnow').search(
        'grep',
        { query = 'split_parts', params = { repositories = {} } },
        function(items)
          found = items
        end
      )
      t.wait('the answer', function()
        return found
      end)
      t.equal({}, found)
      local parsed = require('winnow.query').parse('grep', 'repositories=team/a,other/* some text')
      t.equal({ 'team/a', 'other/*' }, parsed.params.repositories)
      t.equal('some text', parsed.query)
    end,
  },
  {
    'the same file of the workspace is opened instead',
    function()
      local text = 'PART_BYTES = 1024\n\n\ndef split_parts(data):\n    return data[:PART_BYTES]\n'
      local folder = project({ ['src/parts.py'] = text })
      t.write(
        folder .. '/.git/config',
        '[remote "origin"]\n\turl = git@example.com:team/parts.git\n'
      )
      vim.cmd.edit(vim.fn.fnameescape(NAME))
      vim.api.nvim_win_set_cursor(0, { 4, 4 })
      t.wait('the file', function()
        return vim.api.nvim_buf_get_name(0) == folder .. '/src/parts.py'
      end)
      t.equal({ 4, 4 }, vim.api.nvim_win_get_cursor(0))
      t.equal({ '', true }, { vim.bo.buftype, vim.bo.modifiable })
    end,
  },
  {
    'a file that is not there shows the reason',
    function()
      project()
      local messages = t.notified()
      vim.cmd.edit(vim.fn.fnameescape('winnow://team/parts@c1:/none.py'))
      t.contains(lines()[1], "Could not read this file: The search cluster has no file 'none.py'")
      t.equal(vim.log.levels.ERROR, messages[#messages][2])
    end,
  },
}
