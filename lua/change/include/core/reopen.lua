-- reopen(ctx, own): an ended change is a draft again, and is kept.
local function reopen(ctx, own)
  move_to(ctx, own, 'draft')
  redis.call('ZREM', ended, own.id)
  for _, one in ipairs(slots_of(own)) do redis.call('PERSIST', requests .. own.id .. '/' .. one.slot) end  -- at most 32: slots
end
