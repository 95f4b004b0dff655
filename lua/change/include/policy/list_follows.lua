-- list_follows(given): the tasks of a policy: `<step>|<kind>|<lane>|<priority>`, separated by `;`.
local function list_follows(given)
  local words = {}
  for _, step in ipairs({ 'approved', 'rejected', 'changes_requested', 'completed', 'failed', 'cancelled' }) do
    local wanted = given[step .. '_kind']
    if wanted then
      words[#words + 1] = table.concat({ step, wanted, given[step .. '_lane'] or 'any', given[step .. '_priority'] or 5 }, '|')
    end
  end
  return table.concat(words, ';')
end
