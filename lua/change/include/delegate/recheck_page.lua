-- recheck_page(ctx, page): move the requests of a page { member, score, … } to whom they belong now. Returns at which member it ended, because
-- it has looked enough; or nil.
local function recheck_page(ctx, page)
  for i = 1, #page, 2 do  -- at most 100: limit
    if i > 1 and looked_enough(ctx) then return i - 2 end
    recheck_request(ctx, page[i])
  end
end
