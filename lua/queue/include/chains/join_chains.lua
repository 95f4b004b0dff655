-- join_chains(ctx, id, own, place, by_index): let a new task wait for others (own.awaits). Its record is not written yet.
local function join_chains(ctx, id, own, place, by_index)
  own.awaits = await_others(ctx, id, own, place, by_index)
  own[#own + 1], own[#own + 2] = 'awaits', own.awaits
  ctx.gathers[id] = own.gather and string.format('%.0f', place)
end
