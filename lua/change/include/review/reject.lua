-- reject(ctx, own, by, why): the change is rejected: by `rejections`, because the quorum is `unreachable`, or by `timeout`.
local function reject(ctx, own, by, why)
  if why ~= 'timeout' then note_rejection(own) end
  set_field(own, 'why', why)
  set_field(own, 'decided_by', by)
  move_to(ctx, own, 'rejected')
  record_step(ctx, own, 'change.rejected', by, 'why=' .. why, '')
end
