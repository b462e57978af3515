-- `:checkhealth winnow`: what is wrong, and how to mend it.

local M = {}

local health = vim.health

-- The server's own examination starts programs to ask for their versions.
local DOCTOR_MS = 20000

---@return boolean
local function check_neovim()
  health.start('winnow: Neovim')
  if vim.fn.has('nvim-0.11') == 0 then
    health.error('Neovim 0.11 or newer is required', { 'Install a newer Neovim' })
    return false
  end
  -- The module can be called, which its annotations do not say.
  local version = vim.version --[[@as fun(): vim.Version]]
  health.ok(('Neovim %s, winnow.nvim %s'):format(tostring(version()), require('winnow.version')))
  return true
end

---@class winnow.Finding
---@field subject string
---@field good boolean
---@field detail string
---@field advice string
---@field required boolean whether nothing works without it

---@param finding winnow.Finding
local function report(finding)
  local said = ('%s: %s'):format(finding.subject, finding.detail)
  local advice = finding.advice ~= '' and { finding.advice } or {}
  if not finding.good then
    local say = finding.required and health.error or health.warn
    say(said, unpack(advice))
    return
  end
  health.ok(said)
  vim.iter(advice):each(health.info)
end

---What the server's own examination says (`winnow doctor`).
---@param cmd? string[]|function
local function check_server(cmd)
  health.start('winnow: the server')
  local problem = require('winnow.client').start_problem(cmd)
  if problem then
    health.error(problem, {
      'Install the server: pip install winnow-ls',
      "Or set its command: vim.lsp.config('winnow', { cmd = { '/path/to/winnow', 'serve' } })",
    })
    return
  end
  if type(cmd) ~= 'table' or cmd[#cmd] ~= 'serve' then
    health.info('The command is not `… serve`, so `winnow doctor` was not run')
    return
  end
  local doctor = vim.list_extend(vim.list_slice(cmd, 1, #cmd - 1), { 'doctor', '--json' })
  local run = vim.system(doctor, { timeout = DOCTOR_MS }):wait()
  local ok, findings = pcall(vim.json.decode, run.stdout or '')
  if not ok or type(findings) ~= 'table' then
    health.error(('`%s` exited with code %d'):format(table.concat(doctor, ' '), run.code), {
      'Output: ' .. vim.trim(run.stderr or ''),
      'Run it in a terminal; the server may be only partly installed',
    })
    return
  end
  vim.iter(findings):each(report)
end

---What the running server of this project answers; nil where that was said already.
---@param method string
---@return table?
local function answer_to(method)
  local client = require('winnow.client')
  local folder = client.root(0)
  local running = client.running(folder)
  if not running then
    health.info(('no server is running for %s; the first search starts one'):format(folder))
    return nil
  end
  local response = running:request_sync(method, vim.empty_dict(), 5000, 0)
  local problem = response and response.err
  if not response or problem then
    local said = problem and problem.message or 'no answer within 5 s'
    health.error('the server did not answer: ' .. said, { 'See :Winnow log' })
    return nil
  end
  return response.result
end

---Whether models on other machines may be asked; those on this one need no consent.
local function check_consent()
  health.start('winnow: sending code of this project to remote models')
  local answer = answer_to('$/consent') --[[@as winnow.Consent?]]
  if not answer then
    return
  end
  for _, one in ipairs(answer.destinations) do
    local may = one.state == 'given' or one.state == 'always'
    local say = may and health.ok or health.info
    say(require('winnow.egress').state(one) .. (may and '' or '; `:Winnow consent` allows it'))
  end
  vim.iter(answer.warnings):each(health.info)
end

local function check_index()
  health.start('winnow: the index of this project')
  local answer = answer_to('$/indexStatus')
  if not answer then
    return
  end
  for _, one in ipairs(answer.index.folders) do
    local said = ('%s: %s, %d of %d files'):format(
      one.folder,
      one.state,
      one.files_indexed,
      one.files_total
    )
    if one.state == 'ready' then
      health.ok(said)
    elseif one.state == 'none' then
      health.warn(said .. (one.problem and ': ' .. one.problem or ''), { ':Winnow index build' })
    else
      health.info(said)
    end
  end
end

local function check_pickers()
  health.start('winnow: other pickers')
  local found = require('winnow.adapters').found()
  for _, name in ipairs({ 'telescope', 'fzf_lua', 'snacks' }) do
    local chosen = require('winnow.config').current.picker == name
    if found[name] then
      health.ok(name .. ' is installed' .. (chosen and ' and in use' or ''))
    elseif chosen then
      health.error(name .. ' is set as the picker but not installed', {
        "Install it, or set { picker = 'builtin' }",
      })
    else
      health.info(name .. ' is not installed; the built-in picker needs no plugin')
    end
  end
  if require('winnow.config').current.complete then
    health.ok('`complete` is set: your own model can rank')
  end
end

function M.check()
  if check_neovim() then
    check_server(vim.lsp.config.winnow.cmd)
    check_consent()
    check_index()
    check_pickers()
  end
end

return M
