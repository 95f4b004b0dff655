-- check_follows(given): return an error if a policy gives the lane or the priority of a task, and not its kind.
local function check_follows(given)
  for _, step in ipairs({ 'approved', 'rejected', 'changes_requested', 'completed', 'failed', 'cancelled' }) do
    if not given[step .. '_kind'] and (given[step .. '_lane'] or given[step .. '_priority']) then
      return refuse(step .. '_kind', '', 'the kind of the task, if its lane or priority is given')
    end
  end
end
