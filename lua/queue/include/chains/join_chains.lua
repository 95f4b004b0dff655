-- join_chains(ctx, id, own, place, by_index): what a new task and others mean for each other, before its record is
-- written: its parent may gather it, and it may wait for others itself (own.awaits).
local function join_chains(ctx, id, own, place, by_index)
  if own.parent and (ctx.settings.chains or ctx.has_chains) then join_gathering(ctx, own, own.parent) end
  if not (own.after or own.gather or own.behind) then return end
  own.awaits = await_others(ctx, id, own, place, by_index)
  own[#own + 1], own[#own + 2] = 'awaits', own.awaits
  ctx.gathers[id] = own.gather and string.format('%.0f', place)
end
