-- check_follows(own): return an error if a policy gives the lane or the priority of a task, and not its kind.
local function check_follows(own)
  for _, step in ipairs({ 'approved', 'rejected', 'changes_requested', 'completed', 'failed', 'cancelled' }) do
    if not own[step .. '_kind'] and (own[step .. '_lane'] or own[step .. '_priority']) then
      return refuse(step .. '_kind', '', 'the kind of the task, if its lane or priority is given')
    end
  end
end
