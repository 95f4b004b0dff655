-- wanted_words(ctx, list, field): each type, tag or resource that delegations of a person want → their places in the list; '' → those of the
-- delegations that want none. A call finds them once.
local function wanted_words(ctx, list, field)
  if list[field] then return list[field] end
  local wanted = {}
  for at, one in ipairs(list) do  -- at most 16: delegations of a person
    local words = words_of(one.fields[field])
    for _, word in ipairs(words) do  -- at most 16: types, tags or resources
      wanted[word] = wanted[word] or {}
      table.insert(wanted[word], at)
    end
    ctx.looked = ctx.looked + 20 * #words  -- to read one takes as long as to compare so many
  end
  list[field] = wanted
  return wanted
end
