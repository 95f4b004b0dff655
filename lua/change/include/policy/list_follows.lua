-- list_follows(own): the tasks of a policy: `<step>|<kind>|<lane>|<priority>`, separated by `;`.
local function list_follows(own)
  local words = {}
  for _, step in ipairs({ 'approved', 'rejected', 'changes_requested', 'completed', 'failed', 'cancelled' }) do
    local wanted = own[step .. '_kind']
    if wanted then
      words[#words + 1] = table.concat({ step, wanted, own[step .. '_lane'] or 'any', own[step .. '_priority'] or 5 }, '|')
    end
  end
  return table.concat(words, ';')
end
