-- note_taken(ctx, id, taken, instead): another task has the id of one that follows a step, so this one gets another id. People should look.
local function note_taken(ctx, id, taken, instead)
  local own = read_change(id)
  if not own then return end
  record_step(ctx, own, 'change.alert', 'delivery', 'reason=follow_taken task=' .. taken .. ' instead=' .. instead, '')
  save_change(ctx, own)
end
